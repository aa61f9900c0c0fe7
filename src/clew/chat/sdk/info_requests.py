"""Control requests that ask for information: usage of the context, cost, models, files, commands, rules and hooks."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from clew.api.token_estimate import estimate_tokens
from clew.chat.engine import Engine
from clew.chat.hooks.runner import Hooks
from clew.chat.sdk.mcp_requests import McpRequests
from clew.chat.sdk.result_json import model_usage
from clew.chat.sdk.sdk_connection import ControlError, Handler, SdkConnection, SdkSession, text_field
from clew.chat.sdk.sdk_init import read_plugins
from clew.chat.sdk.sdk_listing import list_commands, list_kinds, list_models, list_plugins
from clew.chat.turn.compaction import threshold
from clew.chat.turn.context_usage import GRID_COLUMNS, ContextShare, ContextUsage, measure_usage
from clew.chat.turn.cost_report import describe_cost
from clew.version import __version__
from clew.wire.json_codec import Json

MAX_FILE = 1 << 20  # bytes of a file that read_file returns unless the request sets a limit
_COLOURS = {"system_prompt": "promptBorder", "messages": "purple", "memory_files": "warning"}


class InfoRequests(Struct):
    """Answers the requests for information of one connection."""

    connection: SdkConnection
    servers: McpRequests

    def handlers(self) -> dict[str, Handler]:
        return {
            "get_context_usage": self._context_usage,
            "get_session_cost": self._session_cost,
            "get_usage": self._usage,
            "list_models": self._models,
            "get_binary_version": self._version,
            "list_permission_rules": self._permission_rules,
            "get_hooks_listing": self._hooks,
            "reload_plugins": self._reload_plugins,
            "reload_skills": self._reload_skills,
            "reload_output_styles": self._reload_output_styles,
            "read_file": self._read_file,
            "set_has_subscribers": self._ignore,
        }

    async def _session(self) -> SdkSession:
        return await self.connection.ensure_started()

    async def _context_usage(self, request: Json) -> Json:
        return describe_usage((await self._session()).engine)

    async def _session_cost(self, request: Json) -> Json:
        engine = (await self._session()).engine
        pairs = [*describe_cost(engine.deps.cost), ("Total duration (API)", f"{engine.api_milliseconds / 1000:.1f} s")]
        return {"text": "\n".join(f"{name}: {value}" for name, value in pairs)}

    async def _usage(self, request: Json) -> Json:
        engine = (await self._session()).engine
        cost = engine.deps.cost
        session = {
            "total_cost_usd": cost.dollars,
            "total_api_duration_ms": engine.api_milliseconds,
            "total_duration_ms": engine.milliseconds,
            "model_usage": model_usage(cost.by_model),
        }
        plan: Json = {"subscription_type": None, "rate_limits_available": False, "rate_limits": None, "behaviors": None}
        return {"session": session, **plan}

    async def _models(self, request: Json) -> Json:
        return {"models": list_models()}

    async def _version(self, request: Json) -> Json:
        return {"version": __version__}

    async def _permission_rules(self, request: Json) -> Json:
        permissions = (await self._session()).permissions
        rules = [{"behavior": rule.kind, "rule": rule.text, "source": rule.scope} for rule in permissions.rules]
        state = {
            "rules": rules,
            "workspaceDirectories": [str(root) for root in permissions.roots[1:]],
            "originalCwd": str(permissions.project),
            "managedOnly": False,
        }
        return {"state": state}

    async def _hooks(self, request: Json) -> Json:
        hooks = (await self._session()).engine.deps.hooks
        configured = hooks.hooks if isinstance(hooks, Hooks) else ()
        names = dict.fromkeys(hook.event for hook in configured)
        return {
            "events": [{"name": name} for name in names],
            "hooks": [{"event": hook.event, "matcher": hook.matcher, "command": hook.name} for hook in configured],
        }

    async def _reload_plugins(self, request: Json) -> Json:
        session = await self._session()
        if request.get("refuse_if_busy") is True and session.engine.is_busy:
            raise ControlError("reload_plugins: a turn is running", "reload_plugins_busy")
        config = session.reload(read_plugins(request.get("add_plugins")))
        return {
            "commands": list_commands(session.skills),
            "agents": list_kinds(session.kinds),
            "plugins": list_plugins(config.plugins),
            "mcpServers": self.servers.list_servers(session),
            "error_count": 0,
        }

    async def _reload_skills(self, request: Json) -> Json:
        session = await self._session()
        session.reload()
        return {"skills": list_commands(session.skills)}

    async def _reload_output_styles(self, request: Json) -> Json:
        return {"available_output_styles": list((await self._session()).reload().styles)}

    async def _read_file(self, request: Json) -> Json:
        """Return the content of a file that the Read tool could read without a question."""
        session = await self._session()
        stated = text_field(request, "read_file", "path")
        state = session.engine.conversation.state
        path = Path(os.path.realpath(os.path.join(state.cwd, stated)))
        mode = session.engine.conversation.mode
        if session.permissions.decide("Read", {"file_path": str(path)}, state.cwd, mode).kind != "allow":
            raise ControlError(f"read_file: {stated} may not be read")
        limit = request.get("max_bytes")
        size = limit if isinstance(limit, int) and 0 < limit <= MAX_FILE else MAX_FILE
        try:
            with path.open("rb") as file:
                data = file.read(size + 1)
        except OSError as error:
            raise ControlError(f"read_file: {error.strerror or error}") from None
        answer: Json = {"absPath": str(path), "requested_path": stated, "truncated": len(data) > size}
        data = data[:size]
        if request.get("encoding") == "base64":
            return {**answer, "contents": base64.b64encode(data).decode(), "encoding": "base64"}
        contents = data.decode(errors="replace")
        return {**answer, "contents": contents, "lossy": contents.encode() != data}

    async def _ignore(self, request: Json) -> None:
        """Answer a request that makes no difference here."""


def describe_usage(engine: Engine) -> Json:
    """Return how the context window is used, in the SDKs' terms."""
    usage = measure_usage(engine.conversation, engine.deps)
    return {
        "categories": [_category(share) for share in usage.shares],
        "totalTokens": usage.total,
        "maxTokens": usage.window,
        "rawMaxTokens": usage.window,
        "percentage": usage.percentage,
        "gridRows": _grid(usage),
        "model": engine.conversation.model,
        "memoryFiles": [],
        "mcpTools": [
            {"name": name, "serverName": name.split("__")[1], "tokens": tokens, "isLoaded": True}
            for name, tokens in usage.mcp_tools
        ],
        "agents": [],
        "autoCompactThreshold": threshold(usage.window),
        "messageBreakdown": _breakdown(engine.conversation.messages),
        "isAutoCompactEnabled": engine.deps.limits.auto_compact,
        "apiUsage": engine.conversation.last_usage or None,
    }


def _breakdown(messages: Sequence[Json]) -> Json:
    """Return the estimated tokens of the messages by what they are."""
    counts = {"toolCallTokens": 0, "toolResultTokens": 0, "assistantMessageTokens": 0, "userMessageTokens": 0}
    for message in messages:
        content = message["content"]
        for block in content if isinstance(content, list) else [content]:
            kind = block.get("type") if isinstance(block, dict) else "text"
            spoken = "assistantMessageTokens" if message["role"] == "assistant" else "userMessageTokens"
            name = {"tool_use": "toolCallTokens", "tool_result": "toolResultTokens"}.get(str(kind), spoken)
            counts[name] += estimate_tokens([block])
    return counts


def _category(share: ContextShare) -> Json:
    colour = _COLOURS.get(share.id, "inactive")
    return {"id": share.id, "name": share.name, "tokens": share.tokens, "color": colour, "kind": share.kind}


def _grid(usage: ContextUsage) -> list[list[Json]]:
    squares = [
        {
            "color": _COLOURS.get(share.id, "inactive"),
            "isFilled": share.kind != "free",
            "categoryName": share.name,
            "tokens": share.tokens,
            "percentage": round(100 * share.tokens / usage.window) if usage.window else 0,
            "squareFullness": 1,
        }
        for share in usage.grid()
    ]
    return [squares[start : start + GRID_COLUMNS] for start in range(0, len(squares), GRID_COLUMNS)]
