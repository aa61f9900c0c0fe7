"""Connect to MCP servers and offer their tools as `mcp__<server>__<tool>`.

Each server has a separate task, so that one that fails does not affect the others: its tools report the failure.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct, field

from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.errors import ApiError
from clew.system.credential_transport import HINT, is_protected
from clew.system.extras import install_hint
from clew.system.subprocesses import find_program
from clew.wire.json_codec import Json, decode
from clew.wire.session_writer import create_exactly

START_SECONDS = 30.0  # seconds that a server has to start
READ_SECONDS = 300.0  # seconds that an HTTP server has to answer
MAX_RESULT = 100_000  # characters of a result that the model sees
PREVIEW = 2_000
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")

CallServer = Callable[[str, Json], Awaitable[Json]]  # takes a tool name and its input, returns the MCP result
State = Literal["connected", "failed", "pending"]


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
    _session: Any = None

    async def run(self, cwd: Path, environment: Mapping[str, str], ready: asyncio.Event, done: asyncio.Event) -> None:
        """Connect, set `ready`, and stay connected until `done` is set."""
        try:
            async with AsyncExitStack() as stack:
                self._session = await asyncio.wait_for(self._connect(stack, cwd, environment), START_SECONDS)
                listed = await asyncio.wait_for(self._list(), START_SECONDS)
                self.tools = build_tools(self.name, listed, self._call)
                self.state = "connected"
                ready.set()
                await done.wait()
        except _errors(OSError, ValueError, TimeoutError, RuntimeError, KeyError) as error:
            self.error = str(error) or type(error).__name__
        except BaseExceptionGroup as group:
            self.error = str(group.exceptions[0])
        finally:
            self._session = None
            if not done.is_set():
                self.state = "failed"
            ready.set()

    async def _connect(self, stack: AsyncExitStack, cwd: Path, environment: Mapping[str, str]) -> Any:
        from httpx2 import AsyncClient, Timeout
        from mcp import ClientSession, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        config = _expand_variables(self.config, environment)
        kind = str(config.get("type") or ("http" if "url" in config else "stdio"))
        if kind == "stdio":
            variables = {**environment, **{k: str(v) for k, v in (config.get("env") or {}).items()}}
            parameters = StdioServerParameters(
                command=_program(str(config["command"]), variables),
                args=[str(a) for a in config.get("args") or ()],
                env=variables,
                cwd=cwd,
            )
            errors = stack.enter_context(open(os.devnull, "w"))  # noqa: SIM115
            streams = await stack.enter_async_context(stdio_client(parameters, errlog=errors))
        elif kind in ("http", "streamable-http"):
            headers = {name: str(value) for name, value in (config.get("headers") or {}).items()}
            limits = Timeout(START_SECONDS, read=READ_SECONDS)
            client = AsyncClient(headers=headers, timeout=limits, follow_redirects=True)
            if headers:
                client.event_hooks = {"request": [_guard(str(config["url"]))]}
            await stack.enter_async_context(client)
            streams = await stack.enter_async_context(streamable_http_client(str(config["url"]), http_client=client))
        else:
            raise ValueError(f"Servers of the type {kind} are not known.")
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        return session

    async def _list(self) -> list[Json]:
        from mcp_types import PaginatedRequestParams

        tools: list[Json] = []
        cursor: str | None = None
        while True:
            page = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            tools += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                return tools

    async def _call(self, name: str, arguments: Json) -> Json:
        if self._session is None:
            raise ToolFailed(f"The MCP server {self.name} is gone: {self.error or 'it ended'}.", is_misuse=False)
        try:
            result = await self._session.call_tool(name, arguments)
        except _errors() as error:
            raise ToolFailed(f"The MCP server {self.name} failed: {error}", is_misuse=False) from None
        fields: Json = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return fields


@asynccontextmanager
async def start_servers(
    configs: Mapping[str, Json], cwd: Path, environment: Mapping[str, str]
) -> AsyncIterator[list[McpServer]]:
    """Start all configured servers in parallel; a failed one states why."""
    if not configs:
        yield []
        return
    _require_mcp()
    servers = [McpServer(name, config) for name, config in configs.items()]
    done = asyncio.Event()
    ready = [asyncio.Event() for _ in servers]
    tasks = [
        asyncio.create_task(server.run(cwd, environment, begun, done))
        for server, begun in zip(servers, ready, strict=True)
    ]
    try:
        await asyncio.gather(*(begun.wait() for begun in ready))
        yield servers
    finally:
        done.set()
        await asyncio.wait(tasks, timeout=START_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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


def _guard(address: str) -> Callable[[Any], Awaitable[None]]:
    """Check each request: headers, which may contain a key, are sent to the configured server only, and not
    unencrypted.
    """
    if not is_protected(address):
        raise ValueError(f"Its headers would be sent to {urlsplit(address).hostname} in the clear. {HINT}")
    server = urlsplit(address)

    async def check(request: Any) -> None:
        target = urlsplit(str(request.url))
        if (target.scheme, target.netloc) != (server.scheme, server.netloc):
            raise ValueError(f"The server redirects to {target.hostname}, which is not sent its headers.")

    return check


def _program(command: str, variables: Mapping[str, str]) -> str:
    """Return the path of a server's program: a bare name is looked up in the absolute folders of `PATH`, never in the
    working directory.
    """
    if os.path.dirname(command):
        return command
    path = find_program(command, variables.get("PATH"))
    if path is None:
        raise ValueError(f"There is no program {command!r} in the absolute folders of PATH.")
    return path


def _expand_variables(value: Any, environment: Mapping[str, str]) -> Any:
    """Return the configuration with `${VARIABLE}` and `${VARIABLE:-default}` expanded."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda m: environment.get(m[1], m[2] or ""), value)
    if isinstance(value, list):
        return [_expand_variables(item, environment) for item in value]
    if isinstance(value, dict):
        return {key: _expand_variables(item, environment) for key, item in value.items()}
    return value


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
