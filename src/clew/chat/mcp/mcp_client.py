"""Connect to MCP servers and offer their tools as `mcp__<server>__<tool>`.

Each server has a separate task, so that one that fails does not affect the others: its tools report the failure.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct, field

from clew.chat.mcp.mcp_transport import call_seconds, open_streams, start_seconds
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.errors import ApiError
from clew.system.extras import install_hint
from clew.wire.json_codec import Json, decode
from clew.wire.session_writer import create_exactly

MAX_INSTRUCTIONS = 4_000  # characters of the instructions of a server
MAX_RESULT = 100_000  # characters of a result that the model sees
PREVIEW = 2_000
_NAME = re.compile(r"[^A-Za-z0-9_-]")

CallServer = Callable[[str, Json], Awaitable[Json]]  # takes a tool name and its input, returns the MCP result
_Answer = TypeVar("_Answer")
State = Literal["connected", "failed", "pending", "disabled", "needs-auth"]


class McpTool(Struct, frozen=True):
    """A tool of an MCP server."""

    name: str
    description: str
    schema: Json
    server_name: str
    reads: bool
    call_server: CallServer

    def is_read_only(self, input: Json) -> bool:
        return self.reads

    async def check(self, input: Json, scene: ToolContext) -> None:
        """Leave the check to the server."""

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        result = await self.call_server(self.server_name, input)
        content = [_convert_block(part, scene) for part in result.get("content") or () if isinstance(part, dict)]
        if result.get("isError"):
            raise ToolFailed("\n".join(str(b.get("text", "")) for b in content) or "The tool failed.", is_misuse=False)
        return CallResult(content or "(no content)", result.get("structuredContent") or content)


def build_tools(server: str, listed: Sequence[Json], call_server: CallServer) -> list[McpTool]:
    """Return the tools that a server lists, as they are offered to the model."""
    tools = []
    for tool in listed:
        hints = tool.get("annotations")
        schema = tool.get("inputSchema")
        tools.append(
            McpTool(
                full_name(server, str(tool["name"])),
                str(tool.get("description") or tool.get("title") or tool["name"]),
                schema if isinstance(schema, dict) and schema.get("type") == "object" else {"type": "object"},
                str(tool["name"]),
                isinstance(hints, dict) and hints.get("readOnlyHint") is True,
                call_server,
            )
        )
    return tools


def full_name(server: str, tool: str) -> str:
    return f"mcp__{_NAME.sub('_', server)}__{_NAME.sub('_', tool)}"[:128]


# -- servers


class McpServer(Struct):
    """One server and its connection state."""

    name: str
    config: Json
    state: State = "pending"
    error: str = ""
    tools: list[McpTool] = field(default_factory=list)
    info: Json = field(default_factory=dict)  # name and version, as the server states them
    scope: str = "dynamic"  # where it is configured: user, local, project, plugin, or given for this session
    instructions: str = ""  # for the model, how to use the server
    prompts: list[Json] = field(default_factory=list)
    changed: Callable[[McpServer], None] = lambda server: None  # called when its tools or prompts have changed
    _lists: dict[str, bool] = field(default_factory=dict)  # what it has: tools, prompts, resources
    _refreshing: asyncio.Task[None] | None = None
    _needs_login: bool = False
    _session: Any = None
    _done: asyncio.Event | None = None  # set to end the connection
    _task: asyncio.Task[None] | None = None

    async def start(self, cwd: Path, environment: Mapping[str, str]) -> None:
        """Connect in a separate task; `state` and `error` say how that went."""
        _require_mcp()
        self.state, self.error, self._needs_login = "pending", "", False
        ready, self._done = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self.run(cwd, environment, ready, self._done))
        await ready.wait()

    async def stop(self) -> None:
        """End the connection. The server can be started again."""
        if self._task is None or self._done is None:
            return
        self._done.set()
        await asyncio.wait({self._task}, timeout=start_seconds())
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task, self.tools = None, []

    async def run(self, cwd: Path, environment: Mapping[str, str], ready: asyncio.Event, done: asyncio.Event) -> None:
        """Connect, set `ready`, and stay connected until `done` is set."""
        try:
            async with AsyncExitStack() as stack:
                self._session = await asyncio.wait_for(self._connect(stack, cwd, environment), start_seconds())
                await asyncio.wait_for(self._load(), start_seconds())
                self.state = "connected"
                ready.set()
                await done.wait()
        except OSError as error:
            self.error = _describe_os_error(error)
        except _errors(ValueError, RuntimeError, KeyError) as error:
            self.error = str(error) or type(error).__name__
        except BaseExceptionGroup as group:
            self.error = str(group.exceptions[0])
        finally:
            self._session = None
            if self._refreshing is not None:
                self._refreshing.cancel()
            if not done.is_set():
                self.state = "needs-auth" if self._needs_login else "failed"
            ready.set()

    async def _connect(self, stack: AsyncExitStack, cwd: Path, environment: Mapping[str, str]) -> Any:
        from mcp import ClientSession

        streams = await open_streams(stack, self.config, cwd, environment, self._note_refusal)
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1], message_handler=self._receive))
        greeting = await session.initialize()
        self.info = {"name": greeting.server_info.name, "version": greeting.server_info.version}
        self.instructions = (greeting.instructions or "").strip()[:MAX_INSTRUCTIONS]
        capabilities = greeting.capabilities
        self._lists = {
            "tools": capabilities.tools is not None,
            "prompts": capabilities.prompts is not None,
            "resources": capabilities.resources is not None,
        }
        return session

    def _note_refusal(self) -> None:
        self._needs_login = True

    async def _receive(self, message: Any) -> None:
        """Read a list again when the server says that it has changed."""
        kind = str(getattr(message, "method", ""))
        if self._session is None or not kind.endswith("/list_changed"):
            return
        if self._refreshing is not None:
            self._refreshing.cancel()
        self._refreshing = asyncio.create_task(self._refresh())

    async def _refresh(self) -> None:
        with suppress(*_errors(TimeoutError)):
            await asyncio.wait_for(self._load(), start_seconds())
            self.changed(self)

    async def _load(self) -> None:
        """List the tools and prompts of the server."""
        tools = await self._list("tools") if self._lists.get("tools") else []
        self.tools = build_tools(self.name, tools, self._call)
        self.prompts = await self._list("prompts") if self._lists.get("prompts") else []

    @property
    def has_resources(self) -> bool:
        return self.state == "connected" and bool(self._lists.get("resources"))

    async def list_resources(self) -> list[Json]:
        """Return the resources of the server. Raises ToolFailed."""
        return await self._ask(self._list("resources"))

    async def read_resource(self, uri: str) -> Json:
        """Return the contents of a resource. Raises ToolFailed."""
        return await self._ask(self._request("read_resource", uri))

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> Json:
        """Return the messages of a prompt. Raises ToolFailed."""
        return await self._ask(self._request("get_prompt", name, dict(arguments)))

    async def _list(self, what: str) -> list[Json]:
        """Return all pages of a list: tools, prompts or resources."""
        from mcp_types import PaginatedRequestParams

        found: list[Json] = []
        cursor: str | None = None
        while True:
            page = await getattr(self._session, f"list_{what}")(params=PaginatedRequestParams(cursor=cursor))
            found += [_fields(item) for item in getattr(page, what)]
            cursor = page.next_cursor
            if not cursor:
                return found

    async def _call(self, name: str, arguments: Json) -> Json:
        return await self._ask(self._request("call_tool", name, arguments))

    async def _request(self, method: str, *arguments: Any) -> Json:
        if self._session is None:
            raise ToolFailed(f"The MCP server {self.name} is gone: {self.error or 'it ended'}.", is_misuse=False)
        return _fields(await getattr(self._session, method)(*arguments))

    async def _ask(self, request: Awaitable[_Answer]) -> _Answer:
        """Send a request to the server. Raises ToolFailed if it is gone, fails or takes too long."""
        seconds = call_seconds(self.config)
        try:
            return await asyncio.wait_for(request, seconds)
        except TimeoutError:
            text = f"The MCP server {self.name} did not answer within {seconds:g} seconds."
            raise ToolFailed(text, is_misuse=False) from None
        except _errors() as error:
            raise ToolFailed(f"The MCP server {self.name} failed: {error}", is_misuse=False) from None


def _describe_os_error(error: OSError) -> str:
    """Return why a server could not be started, without the number of the error."""
    if isinstance(error, TimeoutError) and not error.strerror:
        return f"it did not answer within {start_seconds():g} seconds"
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def _fields(value: Any) -> Json:
    fields: Json = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return fields


@asynccontextmanager
async def start_servers(
    servers: Sequence[McpServer], cwd: Path, environment: Mapping[str, str]
) -> AsyncIterator[list[McpServer]]:
    """Start all servers that are not disabled, in parallel; a failed one states why. Servers that are added to the list
    later are stopped with the others.
    """
    listed = list(servers)
    try:
        await asyncio.gather(*(server.start(cwd, environment) for server in listed if server.state != "disabled"))
        yield listed
    finally:
        await asyncio.gather(*(server.stop() for server in listed))


def read_configs(texts: Sequence[str], base: Path) -> dict[str, Json]:
    """Return the servers that JSON texts or files define; later ones override earlier ones. Raises ValueError."""
    configs: dict[str, Json] = {}
    for text in texts:
        raw = text.encode() if text.lstrip().startswith("{") else (base / text).read_bytes()
        try:
            data = decode(raw)
        except ValueError:
            data = None
        servers = data.get("mcpServers", data) if isinstance(data, dict) else None
        if not isinstance(servers, dict):
            raise ValueError(f"{text[:80]} is not a configuration of MCP servers: it needs an object mcpServers.")
        configs |= {name: config for name, config in servers.items() if isinstance(config, dict)}
    return configs


def _convert_block(part: Json, scene: ToolContext) -> Json:
    """Return a part of a result as a content block of the API."""
    kind = part.get("type")
    if kind == "image":
        source = {"type": "base64", "media_type": part.get("mimeType"), "data": part.get("data")}
        return {"type": "image", "source": source}
    if kind == "text":
        return {"type": "text", "text": _shorten(str(part.get("text") or ""), scene) or "(no content)"}
    if kind == "resource" and isinstance(part.get("resource"), dict):
        text = part["resource"].get("text") or f"[{part['resource'].get('uri')}]"
        return {"type": "text", "text": _shorten(str(text), scene)}
    return {"type": "text", "text": f"[{kind}: {part.get('uri') or part.get('mimeType') or ''}]"}


def _shorten(text: str, scene: ToolContext) -> str:
    """Save a long text with the session and return its beginning."""
    if len(text) <= MAX_RESULT:
        return text
    path = scene.folder / "tool-results" / f"{scene.call_id}.txt"
    if not path.exists():
        create_exactly(path, (text.encode("utf-8", "replace"),))
    return f"The result has {len(text)} characters. All of it is in {path}. It begins:\n{text[:PREVIEW]}"


def _errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    from mcp import MCPError

    return (MCPError, *others)


def _require_mcp() -> None:
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError:
        raise ApiError("MCP servers need the package mcp.", "extra", hint=install_hint("chat")) from None
