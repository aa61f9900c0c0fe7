"""What an SDK brings along: hooks and tools that live in its process, agents, and words for the system prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.chat.config.settings import table, texts
from clew.chat.hooks.runner import TIMEOUT, Hook
from clew.chat.mcp.mcp_client import Remote
from clew.chat.mcp.sdk_servers import Ask, tools_inside
from clew.wire.json_codec import Json


@dataclass(frozen=True, slots=True)
class Brought:
    """What belongs to the session by the SDK's wish."""

    hooks: tuple[Hook, ...] = ()
    tools: tuple[Remote, ...] = ()
    agents: Mapping[str, Json] = field(default_factory=dict)
    servers: tuple[str, ...] = ()  # that the tools are of
    system: str | None = None
    added_system: str = ""
    hears_agents: bool = False  # also what they say, not only what they do


async def brought(request: Json, servers: Sequence[str], ask: Ask) -> Brought:
    """What an `initialize` brings; `servers` are those that were named before, on the command line."""
    known = tuple(dict.fromkeys((*servers, *texts(request.get("sdkMcpServers")))))
    system = request.get("systemPrompt")
    return Brought(
        tuple(_hooks(table(request.get("hooks")), ask)),
        tuple([tool for server in known for tool in await tools_inside(server, ask)]),
        table(request.get("agents")),
        known,
        "\n\n".join(texts(system)) if isinstance(system, list) else system if isinstance(system, str) else None,
        str(request.get("appendSystemPrompt") or ""),
        request.get("forwardSubagentText") is True,
    )


def _hooks(stated: Mapping[str, Any], ask: Ask) -> Iterator[Hook]:
    for name, groups in stated.items():
        for group in groups or ():
            for callback in group.get("hookCallbackIds") or ():
                yield Hook(
                    name,
                    _hook(callback, ask),
                    str(group.get("matcher") or ""),
                    float(group.get("timeout") or TIMEOUT),
                    group.get("onFailure") == "block",
                )


def _hook(callback: str, ask: Ask) -> Callable[[Json], Awaitable[Json]]:
    async def run(payload: Json) -> Json:
        asked = {"callback_id": callback, "input": payload, "tool_use_id": payload.get("tool_use_id")}
        return await ask("hook_callback", asked)

    return run
