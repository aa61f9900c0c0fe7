"""Control requests about MCP servers: list, switch on and off, connect again, replace, and call a tool."""

from __future__ import annotations

from msgspec import Struct, field

from clew.chat.mcp.mcp_client import McpServer, McpTool, full_name
from clew.chat.mcp.sdk_servers import load_sdk_tools
from clew.chat.sdk.sdk_connection import ControlError, Handler, SdkConnection, SdkSession, text_field
from clew.chat.tools.tool import ToolFailed
from clew.errors import ClewError
from clew.system.environment import child_environment
from clew.wire.json_codec import Json


class SdkServer(Struct):
    """An MCP server inside the SDK program."""

    name: str
    tools: list[McpTool]
    is_enabled: bool = True


class McpRequests(Struct):
    """Answers the requests about MCP servers of one connection."""

    connection: SdkConnection
    sdk_servers: dict[str, SdkServer] = field(default_factory=dict)
    _dynamic: set[str] = field(default_factory=set)  # servers that mcp_set_servers added

    def handlers(self) -> dict[str, Handler]:
        return {
            "mcp_status": self._status,
            "mcp_toggle": self._toggle,
            "mcp_reconnect": self._reconnect,
            "mcp_set_servers": self._set_servers,
            "mcp_call": self._call,
            "mcp_read_resource": self._read_resource,
            "set_mcp_permission_mode_override": self._set_mode,
        }

    async def _status(self, request: Json) -> Json:
        return {"mcpServers": self.list_servers(await self.connection.ensure_started())}

    def list_servers(self, session: SdkSession) -> list[Json]:
        """Return the servers with their state and tools."""
        provided = [self._describe_sdk_server(server) for server in self.sdk_servers.values()]
        return [*provided, *(self._describe(server) for server in session.servers)]

    def _describe(self, server: McpServer) -> Json:
        transport = str(server.config.get("type") or ("http" if "url" in server.config else "stdio"))
        return {
            "name": server.name,
            "status": server.state,
            **({"error": server.error} if server.state == "failed" else {}),
            **({"serverInfo": server.info} if server.state == "connected" and server.info else {}),
            "config": server.config,
            "transport": transport,
            "scope": server.scope,
            "source": server.scope,
            **({"tools": [_describe_tool(tool) for tool in server.tools]} if server.state == "connected" else {}),
        }

    def _describe_sdk_server(self, server: SdkServer) -> Json:
        return {
            "name": server.name,
            "status": "connected" if server.is_enabled else "disabled",
            "config": {"type": "sdk", "name": server.name},
            "transport": "sdk",
            "scope": "dynamic",
            "source": "dynamic",
            **({"tools": [_describe_tool(tool) for tool in server.tools]} if server.is_enabled else {}),
        }

    # -- one server

    async def _toggle(self, request: Json) -> None:
        session = await self.connection.ensure_started()
        name, is_enabled = text_field(request, "mcp_toggle", "serverName"), bool(request.get("enabled"))
        if name in self.sdk_servers:
            self.sdk_servers[name].is_enabled = is_enabled
            self._offer(session, name, self.sdk_servers[name].tools if is_enabled else [])
            return
        server = self._find(session, name)
        if is_enabled:
            await self._connect(session, server)
        else:
            await server.stop()
            server.state = "disabled"
            self._offer(session, name, [])

    async def _reconnect(self, request: Json) -> None:
        session = await self.connection.ensure_started()
        name = text_field(request, "mcp_reconnect", "serverName")
        if name in self.sdk_servers:
            await self._load_sdk_server(session, name)
            return
        await self._connect(session, self._find(session, name))

    async def _connect(self, session: SdkSession, server: McpServer) -> None:
        """Start a server again. Raises ControlError if it fails."""
        await server.stop()
        variables = child_environment(**session.settings.variables)
        await server.start(session.engine.conversation.state.project, variables)
        self._offer(session, server.name, server.tools)
        if server.state != "connected":
            raise ControlError(server.error)

    def _find(self, session: SdkSession, name: str) -> McpServer:
        for server in session.servers:
            if server.name == name:
                return server
        raise ControlError(f"Server not found: {name}")

    # -- the set of servers

    async def _set_servers(self, request: Json) -> Json:
        """Replace the servers that an earlier request of this kind added."""
        session = await self.connection.ensure_started()
        wanted = request.get("servers")
        if not isinstance(wanted, dict):
            raise ControlError("mcp_set_servers: servers must be an object")
        removed = sorted(self._dynamic - set(wanted))
        for name in removed:
            await self._remove(session, name)
        changed = [name for name, config in wanted.items() if self._current(session, name) != config]
        errors: dict[str, str] = {}
        for name in changed:
            await self._remove(session, name)
            try:
                await self._add(session, name, wanted[name])
            except ClewError as error:
                errors[name] = str(error)
        return {"added": changed, "removed": removed, "errors": errors}

    def _current(self, session: SdkSession, name: str) -> Json | None:
        if name in self.sdk_servers:
            return {"type": "sdk", "name": name}
        return next((server.config for server in session.servers if server.name == name), None)

    async def _add(self, session: SdkSession, name: str, config: object) -> None:
        self._dynamic.add(name)
        if not isinstance(config, dict):
            raise ControlError("the configuration of a server must be an object")
        if config.get("type") == "sdk":
            await self._load_sdk_server(session, name)
            return
        server = McpServer(name, config)
        session.servers.append(server)
        await self._connect(session, server)

    async def _remove(self, session: SdkSession, name: str) -> None:
        self._dynamic.discard(name)
        self.sdk_servers.pop(name, None)
        for server in [server for server in session.servers if server.name == name]:
            await server.stop()
            session.servers.remove(server)
        self._offer(session, name, [])

    async def _load_sdk_server(self, session: SdkSession, name: str) -> None:
        tools = await load_sdk_tools(name, self.connection.send_request)
        self.sdk_servers[name] = SdkServer(name, tools)
        self._offer(session, name, tools)

    def _offer(self, session: SdkSession, name: str, tools: list[McpTool]) -> None:
        """Replace the tools of a server among those that the model is offered."""
        allowed = [tool for tool in tools if not session.permissions.denies_tool(tool.name)]
        session.engine.replace_tools(full_name(name, ""), allowed)

    # -- a tool

    async def _call(self, request: Json) -> Json:
        """Call a tool of a server for the SDK, without the model."""
        session = await self.connection.ensure_started()
        name = text_field(request, "mcp_call", "tool")
        if not name.startswith("mcp__"):
            raise ControlError(f"Not a fully-qualified MCP tool name: {name}")
        arguments = request.get("arguments")
        for server in session.servers:
            for tool in server.tools:
                if tool.name == name:
                    try:
                        return await tool.call_server(
                            tool.server_name, arguments if isinstance(arguments, dict) else {}
                        )
                    except ToolFailed as failed:
                        raise ControlError(failed.text) from None
        raise ControlError(f"mcp_call: no MCP server offers the tool {name}")

    async def _read_resource(self, request: Json) -> Json:
        """Return a page that a server brings for the user of the program."""
        session = await self.connection.ensure_started()
        name, uri = (text_field(request, "mcp_read_resource", key) for key in ("serverName", "uri"))
        if not uri.startswith("ui://"):
            raise ControlError("mcp_read_resource: uri must use the ui:// scheme")
        server = next((each for each in session.servers if each.name == name), None)
        if server is None:
            raise ControlError(f"Server not found: {name}")
        try:
            return {"contents": list((await server.read_resource(uri)).get("contents") or ())}
        except ToolFailed as failed:
            raise ControlError(failed.text) from None

    async def _set_mode(self, request: Json) -> Json:
        """Ask for every call of a server, also in a mode that does not ask; null lifts that."""
        session = await self.connection.ensure_started()
        name, mode = text_field(request, "set_mcp_permission_mode_override", "serverName"), request.get("mode")
        if mode not in ("default", "auto", None):
            raise ControlError(f"Only 'default', 'auto' or null can be set for a server, not {mode!r}")
        asked = session.permissions.asked_servers
        asked.discard(name) if mode is None else asked.add(name)
        if any(server.name == name for server in session.servers) or name in self.sdk_servers:
            return {}
        return {"warning": f"There is no MCP server {name!r} now."}


def _describe_tool(tool: McpTool) -> Json:
    return {"name": tool.server_name, "annotations": {"readOnly": True} if tool.reads else {}}
