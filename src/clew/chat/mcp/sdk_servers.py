"""MCP servers inside the SDK program, reached through the SDK connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import uuid4

from clew.chat.mcp.mcp_client import McpTool, build_tools
from clew.errors import ClewError
from clew.version import __version__
from clew.wire.json_codec import Json

PROTOCOL = "2025-06-18"

SdkRequest = Callable[[str, Json], Awaitable[Json]]  # sends a control request of a kind to the SDK


async def load_sdk_tools(server: str, ask: SdkRequest) -> list[McpTool]:
    """Return the tools of an SDK server."""
    client = {"name": "clew", "version": __version__}
    parameters = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
    await _send_message(ask, server, "initialize", parameters)
    await _send_message(ask, server, "notifications/initialized", None)
    listed = await _send_message(ask, server, "tools/list", {})

    async def call(name: str, arguments: Json) -> Json:
        return await _send_message(ask, server, "tools/call", {"name": name, "arguments": arguments})

    return build_tools(server, listed.get("tools") or (), call)


async def _send_message(ask: SdkRequest, server: str, method: str, params: Json | None) -> Json:
    message: Json = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message |= {"id": str(uuid4()), "params": params}
    answer = await ask("mcp_message", {"server_name": server, "message": message})
    response = answer.get("mcp_response") or {}
    if "error" in response:
        raise ClewError(f"The server {server} refused {method}: {response['error'].get('message')}.")
    result: Json = response.get("result") or {}
    return result
