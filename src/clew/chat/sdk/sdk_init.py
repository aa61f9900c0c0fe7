"""What an SDK sends with `initialize`: hooks, tools, agents and system prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from clew.chat.config.settings import as_object, as_strings
from clew.chat.hooks.runner import TIMEOUT, Hook
from clew.chat.mcp.mcp_client import McpTool
from clew.chat.mcp.sdk_servers import SdkRequest, load_sdk_tools
from clew.errors import ClewError
from clew.wire.json_codec import Json


class SdkInit(Struct, frozen=True):
    """The parts of a session that the SDK provides."""

    hooks: tuple[Hook, ...] = ()
    tools: tuple[McpTool, ...] = ()
    agents: Mapping[str, Json] = field(default_factory=dict)
    servers: tuple[str, ...] = ()  # the servers that provide the tools
    system: str | None = None
    added_system: str = ""
    output_schema: Json | None = None  # the form of the answers
    forwards_agent_text: bool = False  # send the text of subagents too, not only their calls
    plan_instructions: str = ""  # for plan mode
    plugins: tuple[Path, ...] = ()
    skills: tuple[str, ...] | None = None  # that the model may use; None for all
    tool_aliases: Mapping[str, str] = field(default_factory=dict)
    title: str = ""


async def read_init(request: Json, servers: Sequence[str], ask: SdkRequest) -> SdkInit:
    """Read an `initialize` request; `servers` are those named on the command line."""
    known = tuple(dict.fromkeys((*servers, *as_strings(request.get("sdkMcpServers")))))
    system = request.get("systemPrompt")
    return SdkInit(
        tuple(_hooks(as_object(request.get("hooks")), ask)),
        tuple([tool for server in known for tool in await load_sdk_tools(server, ask)]),
        as_object(request.get("agents")),
        known,
        "\n\n".join(as_strings(system)) if isinstance(system, list) else system if isinstance(system, str) else None,
        str(request.get("appendSystemPrompt") or ""),
        as_object(request.get("jsonSchema")) or None,
        request.get("forwardSubagentText") is True,
        str(request.get("planModeInstructions") or ""),
        read_plugins(request.get("plugins")),
        tuple(as_strings(request["skills"])) if isinstance(request.get("skills"), list) else None,
        {name: new for name, new in as_object(request.get("toolAliases")).items() if isinstance(new, str)},
        str(request.get("title") or ""),
    )


def read_plugins(stated: Any) -> tuple[Path, ...]:
    """Return the folders of plugins that an SDK names."""
    plugins = [as_object(each) for each in stated] if isinstance(stated, list) else []
    return tuple(Path(str(plugin["path"])) for plugin in plugins if plugin.get("path"))


def _hooks(stated: Mapping[str, Any], ask: SdkRequest) -> Iterator[Hook]:
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


def _hook(callback: str, ask: SdkRequest) -> Callable[[Json], Awaitable[Json]]:
    async def run(payload: Json) -> Json:
        fields = {"callback_id": callback, "input": payload, "tool_use_id": payload.get("tool_use_id")}
        try:
            return await ask("hook_callback", fields)
        except ClewError:
            if payload["hook_event_name"] == "SessionEnd":  # the program may be gone by then
                return {}
            raise

    return run
