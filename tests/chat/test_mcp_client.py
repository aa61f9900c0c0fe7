"""MCP servers: real ones, as a program and at an address, and what becomes of those that fail."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clew.chat.mcp.mcp_client import McpServer, full_name, read_configs, start_servers
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed, ToolState
from tests.chat.chat_fixture import use, world

SERVER = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("calc")

@server.tool(description="Adds.", annotations={"readOnlyHint": True})
def add(a: int, b: int) -> str:
    return str(a + b)

@server.tool(description="Fails.")
def fail() -> str:
    raise ValueError("no such luck")

@server.tool(description="Long.")
def long() -> str:
    return "x" * 200_000

@server.tool(description="Dies.")
def die() -> str:
    import os
    os._exit(3)

if len(sys.argv) > 1:
    server.run(sys.argv[2], port=int(sys.argv[1]))
else:
    server.run()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    return path


def scene(folder: Path) -> ToolContext:
    return ToolContext("toolu_1", "s", folder, ToolState(folder, folder, (folder,)), asyncio.Event())


def with_server(config: dict[str, Any], folder: Path, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    async def run() -> list[Any]:
        async with start_servers([McpServer("calc", config)], folder, dict(os.environ)) as [server]:
            assert isinstance(server, McpServer)
            tools = {tool.name: tool for tool in server.tools}
            found: list[Any] = [server.state, sorted(tools), server.error]
            for name, given in calls:
                try:
                    found.append(await tools[f"mcp__calc__{name}"].call(given, scene(folder)))
                except ToolFailed as failed:
                    found.append(failed.text)
            return found

    return asyncio.run(run())


def test_a_program_brings_tools(tmp_path: Path, program: Path) -> None:
    config = {"command": sys.executable, "args": [str(program)]}
    state, tools, error, added, failed, long, died, gone = with_server(
        config,
        tmp_path,
        [("add", {"a": 1, "b": 2}), ("fail", {}), ("long", {}), ("die", {}), ("add", {"a": 1, "b": 1})],
    )
    assert (state, error) == ("connected", "") and tools == [
        full_name("calc", n) for n in ("add", "die", "fail", "long")
    ]
    assert isinstance(added, CallResult) and added.content == [{"type": "text", "text": "3"}]
    assert "fail" in failed
    assert "200000 characters" in long.content[0]["text"]
    assert len((tmp_path / "tool-results" / "toolu_1.txt").read_text()) == 200_000
    assert "calc" in died and "calc" in gone


@pytest.mark.parametrize(("kind", "transport", "path"), [("http", "streamable-http", "mcp"), ("sse", "sse", "sse")])
def test_an_address_brings_tools(tmp_path: Path, program: Path, kind: str, transport: str, path: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, str(program), str(port), transport], stderr=subprocess.PIPE) as running:
        try:
            assert running.stderr is not None
            while b"running on" not in running.stderr.readline():
                assert running.poll() is None
            url = f"http://127.0.0.1:{port}/{path}"
            state, _, error, added = with_server({"type": kind, "url": url}, tmp_path, [("add", {"a": 2, "b": 2})])
        finally:
            running.terminate()
    assert (state, error) == ("connected", "") and added.content[0]["text"] == "4"


@pytest.mark.parametrize(
    "config", [{"command": "/no/such/program"}, {"type": "http", "url": "http://127.0.0.1:9/mcp"}, {"type": "ws"}, {}]
)
def test_a_server_that_fails_says_why(tmp_path: Path, config: dict[str, Any]) -> None:
    state, tools, error = with_server(config, tmp_path, [])
    assert state == "failed" and tools == [] and error


def test_a_program_is_not_found_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "server").write_text(f"#!/bin/sh\ntouch {tmp_path}/TRIPPED\n")
    (tmp_path / "server").chmod(0o755)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}/usr/bin")
    state, _, error = with_server({"command": "server"}, tmp_path, [])
    assert state == "failed" and "no program 'server'" in error
    assert not (tmp_path / "TRIPPED").exists()


def test_headers_are_not_sent_in_the_clear(tmp_path: Path) -> None:
    config = {"type": "http", "url": "http://192.0.2.1/mcp", "headers": {"X-Api-Key": "k"}}
    state, _, error = with_server(config, tmp_path, [])
    assert state == "failed" and "in the clear" in error


def test_headers_do_not_follow_a_redirect_to_another_server(tmp_path: Path) -> None:
    seen: list[tuple[int, str | None]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            port = int(self.connection.getsockname()[1])
            seen.append((port, self.headers.get("X-Api-Key")))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(307 if port == first.server_address[1] else 404)
            self.send_header("Location", f"http://127.0.0.1:{other.server_address[1]}/mcp")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as first, ThreadingHTTPServer(("127.0.0.1", 0), Answer) as other:
        threads = [threading.Thread(target=server.serve_forever) for server in (first, other)]
        for thread in threads:
            thread.start()
        try:
            url = f"http://127.0.0.1:{first.server_address[1]}/mcp"
            state, _, error = with_server({"type": "http", "url": url, "headers": {"X-Api-Key": "k"}}, tmp_path, [])
        finally:
            for server in (first, other):
                server.shutdown()
            for thread in threads:
                thread.join()
    assert state == "failed" and error
    assert seen and {port for port, _ in seen} == {first.server_address[1]}


def test_the_model_calls_them(tmp_path: Path, program: Path) -> None:
    call = use("mcp__calc__add", a=20, b=22)
    with world(tmp_path / "world", [call], "Done.") as made:

        async def run() -> str:
            config = {"command": sys.executable, "args": [str(program)]}
            async with (
                start_servers([McpServer("calc", config)], tmp_path, dict(os.environ)) as [server],
                made.client() as client,
            ):
                return (await made.engine(client, tuple(server.tools)).submit("go")).text

        assert asyncio.run(run()) == "Done."
    assert made.sent[-1]["messages"][-1]["content"][0]["content"] == [{"type": "text", "text": "42"}]


def test_configurations_are_read_from_texts_and_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}')
    found = read_configs(["a.json", '{"mcpServers": {"b": {"command": "z"}}}'], tmp_path)
    assert found == {"a": {"command": "x"}, "b": {"command": "z"}}
    with pytest.raises(ValueError, match="mcpServers"):
        read_configs(["[]{"[:0] + "{"], tmp_path)
