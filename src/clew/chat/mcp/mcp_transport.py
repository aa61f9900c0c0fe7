"""Open the connection to an MCP server: a program, or an address with streamable HTTP or server-sent events."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from clew.chat.tools.process import run_shell
from clew.system.credential_transport import HINT, is_protected
from clew.system.environment import positive_number
from clew.system.subprocesses import find_program
from clew.wire.json_codec import Json

UNAUTHORIZED = 401
READ_SECONDS = 300.0  # seconds that an HTTP server has to answer
_START_SECONDS = 30.0
_HELPER_SECONDS = 10.0
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


def start_seconds() -> float:
    """Return how long a server has to start: `MCP_TIMEOUT`, else 30 seconds."""
    return positive_number("MCP_TIMEOUT") / 1000 or _START_SECONDS


def call_seconds(config: Json) -> float | None:
    """Return how long a call may take: `timeout` of the server, else `MCP_TOOL_TIMEOUT`; None for any time."""
    stated = config.get("timeout")
    milliseconds = stated if isinstance(stated, int) and stated > 0 else positive_number("MCP_TOOL_TIMEOUT")
    return milliseconds / 1000 or None


def transport_name(config: Json) -> str:
    """Return how a server is reached: stdio, http, sse or another type that the configuration names."""
    return str(config.get("type") or ("http" if "url" in config else "stdio"))


async def open_streams(
    stack: AsyncExitStack, stated: Json, cwd: Path, environment: Mapping[str, str], refused: Callable[[], None]
) -> Any:
    """Return the streams to and from a server. Raises ValueError if the configuration cannot be used.

    `refused` is called when a server at an address answers that it needs a login.
    """
    config = expand_variables(stated, environment)
    kind = transport_name(config)
    if kind == "stdio":
        return await _open_program(stack, config, cwd, environment)
    if kind in ("http", "streamable-http", "sse"):
        return await _open_address(stack, config, kind, await _headers(config, cwd, environment), refused)
    raise ValueError(f"clew does not support servers of the type {kind}.")


async def _open_program(stack: AsyncExitStack, config: Json, cwd: Path, environment: Mapping[str, str]) -> Any:
    from mcp import StdioServerParameters, stdio_client

    variables = {**environment, **{k: str(v) for k, v in (config.get("env") or {}).items()}}
    parameters = StdioServerParameters(
        command=_program(str(config["command"]), variables),
        args=[str(a) for a in config.get("args") or ()],
        env=variables,
        cwd=cwd,
    )
    errors = stack.enter_context(open(os.devnull, "w"))  # noqa: SIM115
    return await stack.enter_async_context(stdio_client(parameters, errlog=errors))


async def _open_address(
    stack: AsyncExitStack, config: Json, kind: str, own_headers: Mapping[str, str], refused: Callable[[], None]
) -> Any:
    from httpx2 import AsyncClient, Timeout

    address = str(config["url"])
    guards = [_guard(address)] if own_headers else []

    async def look(response: Any) -> None:
        if response.status_code == UNAUTHORIZED:
            refused()

    def create_client(headers: Any = None, timeout: Any = None, auth: Any = None) -> AsyncClient:
        limits = Timeout(start_seconds(), read=READ_SECONDS)
        client = AsyncClient(headers=dict(own_headers), timeout=limits, follow_redirects=True)
        client.event_hooks = {"request": guards, "response": [look]}
        return client

    if kind == "sse":
        from mcp.client.sse import sse_client

        return await stack.enter_async_context(sse_client(address, httpx_client_factory=create_client))
    from mcp.client.streamable_http import streamable_http_client

    client = await stack.enter_async_context(create_client())
    return await stack.enter_async_context(streamable_http_client(address, http_client=client))


async def _headers(config: Json, cwd: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a server, and those that its `headersHelper` prints as a JSON object."""
    headers = {name: str(value) for name, value in (config.get("headers") or {}).items()}
    helper = config.get("headersHelper")
    if not isinstance(helper, str) or not helper.strip():
        return headers
    ended = await run_shell(helper, cwd, environment, b"", _HELPER_SECONDS)
    if ended.is_late or ended.code:
        why = "took too long" if ended.is_late else f"failed with exit code {ended.code}"
        raise ValueError(f"Its headersHelper {why}.")
    try:
        printed = json.loads(ended.stdout)
    except ValueError:
        printed = None
    if not isinstance(printed, dict):
        raise ValueError("Its headersHelper did not print a JSON object.")
    return headers | {str(name): str(value) for name, value in printed.items()}


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


def expand_variables(value: Any, environment: Mapping[str, str]) -> Any:
    """Return the configuration with `${VARIABLE}` and `${VARIABLE:-default}` expanded."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda m: environment.get(m[1], m[2] or ""), value)
    if isinstance(value, list):
        return [expand_variables(item, environment) for item in value]
    if isinstance(value, dict):
        return {key: expand_variables(item, environment) for key, item in value.items()}
    return value
