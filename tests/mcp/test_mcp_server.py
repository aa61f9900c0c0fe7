"""The server as a client sees it: a real one, over standard input and output, against the demo tree."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, InitializeResult, ListToolsResult, TextContent

from clew.demo.demo_tree import DemoSummary, write_demo
from clew.mcp.quoted_text import NOTE
from clew.mcp.session_tools import TOOLS
from clew.system.extras import install_hint

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def demo(tmp_path: Path) -> DemoSummary:
    return write_demo(tmp_path / "claude", NOW)


def environment(demo: DemoSummary, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CLAUDE")}
    return {**kept, "XDG_CACHE_HOME": str(demo.root.parent / "cache"), **more}


async def talk_to(
    demo: DemoSummary, calls: list[tuple[str, dict[str, Any]]], env: Mapping[str, str]
) -> tuple[InitializeResult, ListToolsResult, list[CallToolResult]]:
    words = ["-m", "clew", "mcp", "--claude-dir", str(demo.root)]
    server = StdioServerParameters(command=sys.executable, args=words, env=dict(env))
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as client:
        begun = await client.initialize()
        tools = await client.list_tools()
        return begun, tools, [await client.call_tool(name, arguments) for name, arguments in calls]


def asked(demo: DemoSummary, *calls: tuple[str, dict[str, Any]], **env: str) -> list[tuple[bool, str]]:
    """Ask a server of its own; for each call whether it failed, and the text."""
    _, _, results = asyncio.run(talk_to(demo, list(calls), environment(demo, **env)))
    return [(result.is_error, said(result)) for result in results]


def said(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_the_tools_are_told_with_their_arguments(demo: DemoSummary) -> None:
    begun, tools, _ = asyncio.run(talk_to(demo, [], environment(demo)))
    assert begun.server_info.name == "clew" and "data" in (begun.instructions or "")
    assert [tool.name for tool in tools.tools] == list(TOOLS)
    for tool in tools.tools:
        assert tool.annotations and tool.annotations.read_only_hint
        assert tool.description and len(tool.description) < 120
        assert tool.input_schema["type"] == "object"
        assert all(each["description"] for each in tool.input_schema["properties"].values())


def test_from_a_question_to_the_passage(demo: DemoSummary) -> None:
    session = demo.sessions["rounding"]
    [(found_wrong, found), (read_wrong, read), (turn_wrong, turn), (used_wrong, used)] = asked(
        demo,
        ("search_sessions", {"query": "till invoice cent", "limit": 1}),
        ("read_session", {"id": session[:8], "turns": "last 1", "depth": "replies"}),
        ("read_turn", {"id": session, "number": 1}),
        ("usage", {"project": "bakery-orders"}),
    )
    assert not any((found_wrong, read_wrong, turn_wrong, used_wrong))
    assert f"session {session}  (resume: claude -r {session})" in found
    assert NOTE in found and NOTE in read and NOTE in turn
    assert "\n> title: Fix one-cent rounding difference in order totals\n" in found
    assert "Turns 3-3 of 3" in read
    assert "> ❯ The till says 2.68 and the invoice says 2.67." in turn
    assert "\ntotal: " in used


@pytest.mark.req("R226")
def test_the_session_that_asks_is_left_out(demo: DemoSummary) -> None:
    call = ("search_sessions", {"query": "override"})
    [(failed, text)] = asked(demo, call)
    assert not failed and demo.sessions["agents"] in text
    [(failed, text)] = asked(demo, call, CLAUDE_SESSION_ID=demo.sessions["agents"])
    assert demo.sessions["agents"] not in text


def test_errors_are_answers_with_a_next_step(demo: DemoSummary) -> None:
    answers = asked(
        demo,
        ("read_session", {"id": "ffffffff"}),
        ("read_session", {"id": demo.sessions["rounding"], "turns": "9"}),
        ("read_turn", {"number": 1}),
        ("nothing", {}),
        ("list_sessions", {"limit": 1}),
    )
    assert [failed for failed, _ in answers] == [True, True, True, True, False]
    assert answers[0][1] == "No session matches 'ffffffff'.\nList the sessions with list_sessions."
    assert answers[1][1] == "No turn matches '9'.\nThe session has 3 turns."
    assert "`id`" in answers[2][1] and "id, number, cursor" in answers[2][1]
    assert "There is no tool 'nothing'." in answers[3][1]


@pytest.mark.parametrize("missing", ["mcp", "mcp_types", "anyio"])
def test_without_the_package_it_says_how_to_get_it(demo: DemoSummary, missing: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; from clew.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"clew: the server needs the package mcp, version 2 or newer.\n{install_hint('mcp')}\n")


def test_the_end_of_input_is_the_end_and_an_interrupt_is_quiet(demo: DemoSummary) -> None:
    words = [sys.executable, "-m", "clew", "mcp", "--claude-dir", str(demo.root)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, env=environment(demo), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(demo)
    ) as server:
        assert server.stdin and server.stdout and server.stderr
        server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        server.stdin.flush()
        server.stdout.readline()
        time.sleep(0.1)
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 130
        assert server.stderr.read() == b"Interrupted.\n"


def test_the_tools_without_a_server() -> None:
    words = [sys.executable, "-m", "clew", "mcp", "--tools"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert all(f"{name}(" in done.stdout for name in TOOLS)
