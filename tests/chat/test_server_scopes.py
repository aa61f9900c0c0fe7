"""MCP servers beyond their tools: where they are configured, logins, helpers, time limits, changes, resources in prompts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clew.chat.config.settings import Settings, SettingsSource
from clew.chat.mcp.mcp_client import McpServer, start_servers
from clew.chat.mcp.mcp_resources import prompt_commands, read_mention
from clew.chat.mcp.server_scopes import ServerSearch
from clew.chat.tools.tool import ToolFailed
from tests.chat.set_up import CLEW, Place
from tests.chat.setup_cases import server

Json = dict[str, Any]


def with_servers(servers: list[McpServer], folder: Path, use: Callable[[list[McpServer]], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with start_servers(servers, folder, dict(os.environ)) as started:
            return await use(started)

    return asyncio.run(run())


async def _state(servers: list[McpServer]) -> tuple[str, str]:
    return servers[0].state, servers[0].error


@contextmanager
def refusing(status: int) -> Iterator[tuple[str, list[Json]]]:
    """An HTTP server that answers everything with this status, and the headers that it was sent."""
    seen: list[Json] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}/mcp", seen
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_server_that_needs_a_login_says_so(tmp_path: Path, kind: str) -> None:
    with refusing(401) as (address, _):
        state, _ = with_servers([McpServer("box", {"type": kind, "url": address})], tmp_path, _state)
    assert state == "needs-auth"


def test_a_helper_prints_the_headers(tmp_path: Path) -> None:
    helper = f"""{sys.executable} -c 'print("{{\\"X-Key\\": \\"from helper\\"}}")'"""
    with refusing(500) as (address, seen):
        config = {"type": "http", "url": address, "headers": {"X-Other": "stated"}, "headersHelper": helper}
        with_servers([McpServer("box", config)], tmp_path, _state)
    assert (seen[0]["x-key"], seen[0]["x-other"]) == ("from helper", "stated")


@pytest.mark.parametrize(("helper", "why"), [("exit 3", "exit code 3"), ("echo no", "JSON object")])
def test_a_helper_that_fails_is_named(tmp_path: Path, helper: str, why: str) -> None:
    with refusing(500) as (address, seen):
        config = {"type": "http", "url": address, "headersHelper": helper}
        state, error = with_servers([McpServer("box", config)], tmp_path, _state)
    assert (state, seen) == ("failed", []) and "headersHelper" in error and why in error


def test_tools_that_a_server_adds_later_are_known(tmp_path: Path) -> None:
    async def grow(servers: list[McpServer]) -> list[str]:
        changed = asyncio.Event()
        servers[0].changed = lambda server: changed.set()
        before = [tool.name for tool in servers[0].tools]
        await servers[0].tools[0].call_server("shout", {"text": "grow"})
        await asyncio.wait_for(changed.wait(), 20)
        return [*before, "|", *(tool.name for tool in servers[0].tools)]

    names = with_servers([McpServer("s", server("s"))], tmp_path, grow)
    assert names == ["mcp__s__shout", "|", "mcp__s__shout", "mcp__s__whisper"]


def test_a_mentioned_resource_is_read(tmp_path: Path) -> None:
    async def read(servers: list[McpServer]) -> list[str | None]:
        names = ("s:note://two", "other:note://two", "plain.txt", "s:")
        return [await read_mention(servers, name) for name in names]

    found = with_servers([McpServer("s", server("s"))], tmp_path, read)
    assert found == ["CONTENT OF note://two", None, None, None]


def _search(
    tmp_path: Path, sources: tuple[SettingsSource, ...] = (), trusted: bool = False, **more: Any
) -> ServerSearch:
    claude, cwd = tmp_path / "home" / ".claude", tmp_path / "home" / "repo" / "sub"
    claude.mkdir(parents=True)
    cwd.mkdir(parents=True)
    return ServerSearch(cwd, claude, Settings(sources, trusted=trusted), **more)


def test_the_local_servers_of_a_repository_are_those_of_its_root(tmp_path: Path) -> None:
    search = _search(tmp_path)
    root = search.cwd.parent
    (root / ".git").mkdir()
    entry = {str(root): {"mcpServers": {"loc": {"command": "x"}}}, str(search.cwd): {"mcpServers": {"not": {}}}}
    (tmp_path / "home" / ".claude.json").write_text(json.dumps({"projects": entry}))
    servers, notices = search.find({})
    assert [(each.name, each.scope, each.state) for each in servers] == [("loc", "local", "pending")]
    assert notices == []


def test_a_broken_state_file_is_reported_and_does_not_stop_others(tmp_path: Path) -> None:
    search = _search(tmp_path, given=('{"mcpServers": {"own": {"command": "x"}}}',))
    (tmp_path / "home" / ".claude.json").write_text("{")
    servers, notices = search.find({"plugin:p:s": {"command": "y"}})
    assert [(each.name, each.scope) for each in servers] == [("own", "dynamic"), ("plugin:p:s", "plugin")]
    assert ".claude.json cannot be read" in notices[0] and len(notices) == 1


def test_an_administrator_denies_and_allows_servers(tmp_path: Path) -> None:
    rules = {
        "deniedMcpServers": [{"serverName": "bad"}, {"serverUrl": "https://evil.example/*"}],
        "allowedMcpServers": [{"serverName": "bad"}, {"serverCommand": ["npx", "good"]}, {"serverUrl": "https://*"}],
    }
    search = _search(tmp_path, (SettingsSource("managed", tmp_path, rules),))
    configs: Json = {
        "bad": {"command": "x"},
        "good": {"command": "npx", "args": ["good"]},
        "other": {"command": "npx", "args": ["other"]},
        "web": {"url": "https://fine.example/mcp"},
        "evil": {"url": "https://evil.example/mcp"},
    }
    (tmp_path / "home" / ".claude.json").write_text(json.dumps({"mcpServers": configs}))
    servers, notices = search.find({})
    assert [each.name for each in servers] == ["good", "web"]
    assert len(notices) == 3 and all("managed settings" in notice for notice in notices)


def test_servers_of_a_folder_that_is_not_trusted_are_named_and_not_started(tmp_path: Path) -> None:
    place = Place(tmp_path)
    started = place.home / "started"
    place.write("project/.mcp.json", {"mcpServers": {"prj": {"command": "touch", "args": [str(started)]}}})
    ran = place.run(CLEW, "go")
    assert "are not started: the folder is not trusted" in ran.stderr and not started.exists()
    listed = subprocess.run(
        [CLEW[0], "trust", "--dry-run", str(place.project)], env=place.environment(), capture_output=True, text=True
    )
    assert f"It starts the MCP server prj: touch {started}." in listed.stdout


@pytest.mark.parametrize(
    ("typed", "sent"),
    [("bob", {"who": "bob"}), ("bob very loudly", {"who": "bob", "how": "very loudly"}), ("  ", None)],
)
def test_arguments_of_a_prompt_are_words(tmp_path: Path, typed: str, sent: Json | None) -> None:
    async def fetch(servers: list[McpServer]) -> str:
        [fetcher] = prompt_commands(servers)[1].values()
        try:
            return next(iter(await fetcher(typed)))
        except ToolFailed as failed:
            return failed.text

    said = with_servers([McpServer("s", server("s"))], tmp_path, fetch)
    assert said == ("it needs the argument who." if sent is None else f"GREET {json.dumps(sent)}")
