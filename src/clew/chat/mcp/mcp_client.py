"""MCP servers: programs and addresses that bring tools of their own, called `mcp__<server>__<tool>`.

Each server is kept by a task of its own, so that one that dies takes nothing along: its tools fail, and say so.
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
from clew.system.subprocesses import find_program
from clew.wire.json_codec import Json, decode
from clew.wire.session_writer import create_exactly

PATIENCE = 30.0  # seconds for a server to begin
SILENCE = 300.0  # seconds that an answer may take over an address
LONGEST = 100_000  # characters of a result that the model sees
PREVIEW = 2_000
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")

CallServer = Callable[[str, Json], Awaitable[Json]]  # a tool's name and its input; the result as the protocol has it
State = Literal["connected", "failed", "pending"]


class Remote(Struct, frozen=True):
    """A tool of a server."""

    name: str
    description: str
    schema: Json
    own_name: str
    reads: bool
    call_server: CallServer

    def is_read_only(self, input: Json) -> bool:
        return self.reads

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        found = await self.call_server(self.own_name, input)
        content = [_block(each, scene) for each in found.get("content") or () if isinstance(each, dict)]
        if found.get("isError"):
            raise ToolFailed("\n".join(str(b.get("text", "")) for b in content) or "The tool failed.", is_misuse=False)
        return CallResult(content or "(no content)", found.get("structuredContent") or content)


def tools_of(server: str, listed: Sequence[Json], call_server: CallServer) -> list[Remote]:
    """The tools that a server lists, as the model gets them."""
    made = []
    for tool in listed:
        hints = tool.get("annotations")
        schema = tool.get("inputSchema")
        made.append(
            Remote(
                full_name(server, str(tool["name"])),
                str(tool.get("description") or tool.get("title") or tool["name"]),
                schema if isinstance(schema, dict) and schema.get("type") == "object" else {"type": "object"},
                str(tool["name"]),
                isinstance(hints, dict) and hints.get("readOnlyHint") is True,
                call_server,
            )
        )
    return made


def full_name(server: str, tool: str) -> str:
    return f"mcp__{_NAME.sub('_', server)}__{_NAME.sub('_', tool)}"[:128]


# -- servers


class McpServer(Struct):
    """One server, and how it is."""

    name: str
    config: Json
    state: State = "pending"
    error: str = ""
    tools: list[Remote] = field(default_factory=list)
    _session: Any = None

    async def keep(self, cwd: Path, environment: Mapping[str, str], ready: asyncio.Event, done: asyncio.Event) -> None:
        """Connect, say so, and stay until told."""
        try:
            async with AsyncExitStack() as held:
                self._session = await asyncio.wait_for(self._connect(held, cwd, environment), PATIENCE)
                listed = await asyncio.wait_for(self._list(), PATIENCE)
                self.tools = tools_of(self.name, listed, self._call)
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

    async def _connect(self, held: AsyncExitStack, cwd: Path, environment: Mapping[str, str]) -> Any:
        from httpx2 import AsyncClient, Timeout
        from mcp import ClientSession, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        config = _filled(self.config, environment)
        kind = str(config.get("type") or ("http" if "url" in config else "stdio"))
        if kind == "stdio":
            variables = {**environment, **{k: str(v) for k, v in (config.get("env") or {}).items()}}
            parameters = StdioServerParameters(
                command=_program(str(config["command"]), variables),
                args=[str(a) for a in config.get("args") or ()],
                env=variables,
                cwd=cwd,
            )
            errors = held.enter_context(open(os.devnull, "w"))  # noqa: SIM115
            streams = await held.enter_async_context(stdio_client(parameters, errlog=errors))
        elif kind in ("http", "streamable-http"):
            headers = {name: str(value) for name, value in (config.get("headers") or {}).items()}
            limits = Timeout(PATIENCE, read=SILENCE)
            client = AsyncClient(headers=headers, timeout=limits, follow_redirects=True)
            if headers:
                client.event_hooks = {"request": [_guard(str(config["url"]))]}
            await held.enter_async_context(client)
            streams = await held.enter_async_context(streamable_http_client(str(config["url"]), http_client=client))
        else:
            raise ValueError(f"Servers of the type {kind} are not known.")
        session = await held.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        return session

    async def _list(self) -> list[Json]:
        from mcp_types import PaginatedRequestParams

        found: list[Json] = []
        cursor: str | None = None
        while True:
            page = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            found += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                return found

    async def _call(self, name: str, given: Json) -> Json:
        if self._session is None:
            raise ToolFailed(f"The MCP server {self.name} is gone: {self.error or 'it ended'}.", is_misuse=False)
        try:
            found = await self._session.call_tool(name, given)
        except _errors() as error:
            raise ToolFailed(f"The MCP server {self.name} failed: {error}", is_misuse=False) from None
        made: Json = found.model_dump(mode="json", by_alias=True, exclude_none=True)
        return made


@asynccontextmanager
async def serving(
    configs: Mapping[str, Json], cwd: Path, environment: Mapping[str, str]
) -> AsyncIterator[list[McpServer]]:
    """All servers of a configuration, begun side by side; those that fail say why."""
    if not configs:
        yield []
        return
    _need()
    servers = [McpServer(name, config) for name, config in configs.items()]
    done = asyncio.Event()
    ready = [asyncio.Event() for _ in servers]
    tasks = [
        asyncio.create_task(server.keep(cwd, environment, begun, done))
        for server, begun in zip(servers, ready, strict=True)
    ]
    try:
        await asyncio.gather(*(begun.wait() for begun in ready))
        yield servers
    finally:
        done.set()
        await asyncio.wait(tasks, timeout=PATIENCE)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def configured(texts: Sequence[str], base: Path) -> dict[str, Json]:
    """The servers that JSON texts or files name, the later ones over the earlier. Raises ValueError with a sentence."""
    found: dict[str, Json] = {}
    for text in texts:
        raw = text.encode() if text.lstrip().startswith("{") else (base / text).read_bytes()
        try:
            data = decode(raw)
        except ValueError:
            data = None
        servers = data.get("mcpServers", data) if isinstance(data, dict) else None
        if not isinstance(servers, dict):
            raise ValueError(f"{text[:80]} is no configuration of MCP servers: it needs an object mcpServers.")
        found |= {name: config for name, config in servers.items() if isinstance(config, dict)}
    return found


def _guard(address: str) -> Callable[[Any], Awaitable[None]]:
    """A check of each request: headers, which may hold a key, go to the configured server only, and not in the clear."""
    if not is_protected(address):
        raise ValueError(f"Its headers would be sent to {urlsplit(address).hostname} in the clear. {HINT}")
    server = urlsplit(address)

    async def check(request: Any) -> None:
        target = urlsplit(str(request.url))
        if (target.scheme, target.netloc) != (server.scheme, server.netloc):
            raise ValueError(f"The server redirects to {target.hostname}, which is not sent its headers.")

    return check


def _program(command: str, variables: Mapping[str, str]) -> str:
    """The program of a server: a bare name is found in the absolute folders of `PATH`, never in the working folder."""
    if os.path.dirname(command):
        return command
    found = find_program(command, variables.get("PATH"))
    if found is None:
        raise ValueError(f"There is no program {command!r} in the absolute folders of PATH.")
    return found


def _filled(value: Any, environment: Mapping[str, str]) -> Any:
    """The configuration with `${VARIABLE}` and `${VARIABLE:-default}` filled in."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda m: environment.get(m[1], m[2] or ""), value)
    if isinstance(value, list):
        return [_filled(each, environment) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, environment) for key, each in value.items()}
    return value


def _block(given: Json, scene: ToolContext) -> Json:
    """A part of a result, as the API takes it."""
    kind = given.get("type")
    if kind == "image":
        source = {"type": "base64", "media_type": given.get("mimeType"), "data": given.get("data")}
        return {"type": "image", "source": source}
    if kind == "text":
        return {"type": "text", "text": _short(str(given.get("text") or ""), scene) or "(no content)"}
    if kind == "resource" and isinstance(given.get("resource"), dict):
        text = given["resource"].get("text") or f"[{given['resource'].get('uri')}]"
        return {"type": "text", "text": _short(str(text), scene)}
    return {"type": "text", "text": f"[{kind}: {given.get('uri') or given.get('mimeType') or ''}]"}


def _short(text: str, scene: ToolContext) -> str:
    """A long text is saved with the session, and its beginning told."""
    if len(text) <= LONGEST:
        return text
    path = scene.folder / "tool-results" / f"{scene.call_id}.txt"
    if not path.exists():
        create_exactly(path, (text.encode("utf-8", "replace"),))
    return f"The result has {len(text)} characters. All of it is in {path}. It begins:\n{text[:PREVIEW]}"


def _errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    from mcp import MCPError

    return (MCPError, *others)


def _need() -> None:
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError:
        raise ApiError(
            "MCP servers need the package mcp.", "extra", hint="Install it with: pip install 'clew[mcp]'"
        ) from None
