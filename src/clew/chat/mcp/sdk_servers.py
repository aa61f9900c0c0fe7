"""MCP servers that live in the SDK's own process: spoken to through the SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import uuid4

from clew.chat.mcp.mcp_client import Remote, tools_of
from clew.errors import ClewError
from clew.version import __version__
from clew.wire.json_codec import Json

PROTOCOL = "2025-06-18"

Ask = Callable[[str, Json], Awaitable[Json]]  # asks the SDK something of a kind


async def tools_inside(server: str, ask: Ask) -> list[Remote]:
    """The tools of such a server."""
    about = {"name": "clew", "version": __version__}
    begun = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about}
    await _message(ask, server, "initialize", begun)
    await _message(ask, server, "notifications/initialized", None)
    listed = await _message(ask, server, "tools/list", {})

    async def call(name: str, given: Json) -> Json:
        return await _message(ask, server, "tools/call", {"name": name, "arguments": given})

    return tools_of(server, listed.get("tools") or (), call)


async def _message(ask: Ask, server: str, method: str, params: Json | None) -> Json:
    message: Json = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message |= {"id": str(uuid4()), "params": params}
    answer = await ask("mcp_message", {"server_name": server, "message": message})
    found = answer.get("mcp_response") or {}
    if "error" in found:
        raise ClewError(f"The server {server} refused {method}: {found['error'].get('message')}.")
    result: Json = found.get("result") or {}
    return result
