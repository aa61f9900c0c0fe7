"""`clew chat -p`, as it is typed: against a mock, through pipes, interrupted, and what it prints."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from clew.api.mock.scripts import Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import MockServer, running
from clew.conversation.load import find, sessions

SCRIPT = MockScript(
    rules=[
        ScriptRule(
            prompt="hello", steps=[["Look:", {"tool": "Bash", "input": {"command": "echo hi"}}], "Hello, world."]
        ),
        ScriptRule(prompt="again", steps=["Again, world."]),
        ScriptRule(prompt="tides", steps=[[{"tool": "WebSearch", "input": {"query": "tide tables"}}], "High."]),
        ScriptRule(prompt="slow", steps=[ScriptStep(content=[{"tool": "Bash", "input": {"command": "sleep 60"}}])]),
        ScriptRule(prompt="broken", steps=[ScriptStep(content="x", fault=Fault(status=401))]),
        ScriptRule(prompt="colour", steps=["\x1b[31mred"]),
        ScriptRule(
            prompt="hidden", steps=[[{"tool": "Bash", "input": {"command": "ls \x1b]0;x\x07; touch ran"}}], "Well."]
        ),
    ]
)


@pytest.fixture
def server() -> Iterator[MockServer]:
    with running(SCRIPT, keeps_bodies=True) as made:
        yield made


def words(*typed: str) -> list[str]:
    return [sys.executable, "-m", "clew", "chat", *typed]


def surroundings(server: MockServer, folder: Path, **more: str) -> Mapping[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLAUDE", "ANTHROPIC"))}
    home = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "claude"), "XDG_DATA_HOME": str(folder / "data")}
    return {**kept, **home, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-test", **more}


def chat(
    server: MockServer, folder: Path, *typed: str, piped: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    (folder / "project").mkdir(exist_ok=True)
    return subprocess.run(
        words(*typed),
        input=piped,
        capture_output=True,
        text=True,
        cwd=folder / "project",
        env=surroundings(server, folder, **more),
    )


@pytest.mark.parametrize("form", ["text", "stream-json"])
def test_a_command_with_control_characters_is_not_run_even_where_nothing_is_asked(
    server: MockServer, tmp_path: Path, form: str
) -> None:
    done = chat(server, tmp_path, "-p", "hidden", "--dangerously-skip-permissions", "--output-format", form)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "project" / "ran").exists()
    body = json.dumps([row["body"] for row in server.rows if row["path"] == "/v1/messages"][-1])
    assert "control characters (\\\\x1b, \\\\x07)" in body


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--web-search", 'echo \'[{"title": "Tides", "url": "https://tides.example"}]\''), "https://tides.example"),
        ((), "Web search results for query"),
    ],
)
def test_a_search_engine_is_named_by_an_option(
    server: MockServer, tmp_path: Path, more: tuple[str, ...], told: str
) -> None:
    done = chat(server, tmp_path, "-p", "tides", "--allowedTools", "WebSearch", *more)
    assert (done.returncode, done.stdout) == (0, "High.\n"), done.stderr
    body = json.dumps([row["body"] for row in server.rows if row["path"] == "/v1/messages"][-1])
    assert told in body


@pytest.mark.req("R240")
def test_the_answer_is_printed_and_kept(server: MockServer, tmp_path: Path) -> None:
    done = chat(server, tmp_path, "-p", "say hello", "--model", "claude-sonnet-4-5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello, world.\n", "")
    [session] = sessions(claude=tmp_path / "claude")
    assert session.title == "say hello" and session.path is not None
    folder = re.sub(r"[^A-Za-z0-9]", "-", str((tmp_path / "project").resolve()))
    assert session.path == tmp_path / "claude" / "projects" / folder / f"{session.id}.jsonl"
    assert UUID(session.id).version == 4 and str(UUID(session.id)) == session.id
    assert next(e for e in session.entries if e.type == "user").data["entrypoint"] == "sdk-cli"


def test_a_plain_prompt_loads_nothing_that_it_has_no_use_for(server: MockServer, tmp_path: Path) -> None:
    """Loading takes most of the time of a short turn: see docs/benchmarks.md."""
    script = "import sys; from clew.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script, "chat", "-p", "again"],
        input="",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=surroundings(server, tmp_path),
        check=True,
    )
    answer, loaded = done.stdout.splitlines()
    assert answer == "Again, world."
    heavy = {
        "rich",
        "click",
        "httpcore",
        "anyio",
        "html.parser",
        "tree_sitter",
        "pathspec",
        "mcp",
        "pypdf",
        "prompt_toolkit",
    }
    ours = {
        "clew.chat.permission.bash_rules",
        "clew.chat.tools.safe_fetch",
        "clew.chat.store.resume_session",
        "clew.conversation.session",
    }
    assert (heavy | ours) & set(loaded.split()) == set()


def test_the_result_is_an_object_with_its_usage(server: MockServer, tmp_path: Path) -> None:
    done = chat(server, tmp_path, "-p", "say hello", "--output-format", "json", "--model", "sonnet")
    result = json.loads(done.stdout)
    assert (result["type"], result["subtype"], result["result"], result["num_turns"]) == (
        "result",
        "success",
        "Hello, world.",
        2,
    )
    charged = [row["usage"] for row in server.rows]
    assert result["usage"]["output_tokens"] == sum(usage["output_tokens"] for usage in charged)
    assert find(result["session_id"], claude=tmp_path / "claude").id == result["session_id"]
    versioned = json.loads(chat(server, tmp_path, "-p", "again", "--json").stdout)
    assert (versioned["clew"], versioned["kind"], versioned["result"]) == (1, "result", "Again, world.")


def test_what_is_piped_in_stands_behind_the_prompt(server: MockServer, tmp_path: Path) -> None:
    chat(server, tmp_path, "-p", "say hello", piped="the text\n")
    assert prompts(server.rows[0]) == ["say hello\n\nthe text"]
    chat(server, tmp_path, "-p", piped="again\n")
    assert prompts(server.rows[-1]) == ["again"]


def prompts(row: Mapping[str, Any]) -> list[str]:
    texts = [block["text"] for block in row["body"]["messages"][0]["content"]]
    return [text for text in texts if not text.startswith("<system-reminder>")]


def test_a_session_is_gone_on_with(server: MockServer, tmp_path: Path) -> None:
    first = json.loads(chat(server, tmp_path, "-p", "say hello", "--output-format", "json", "-n", "Tale").stdout)
    number = first["session_id"]
    second = json.loads(chat(server, tmp_path, "-p", "again", "-c", "--output-format", "json").stdout)
    third = json.loads(chat(server, tmp_path, "-p", "again", "-r", "tale", "--output-format", "json").stdout)
    fork = json.loads(
        chat(server, tmp_path, "-p", "again", "-r", number[:8], "--fork-session", "--output-format", "json").stdout
    )
    assert second["session_id"] == third["session_id"] == number != fork["session_id"]
    assert [m["role"] for m in server.rows[-1]["body"]["messages"]] == ["user", "assistant"] * 4 + ["user"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_breaking_off_leaves_a_session_that_goes_on(server: MockServer, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "project").mkdir()
    running_one = subprocess.Popen(
        words("-p", "slow", "--dangerously-skip-permissions", "--output-format", "json"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=tmp_path / "project",
        env=surroundings(server, tmp_path),
        text=True,
    )
    with running_one:
        while (
            not list((tmp_path / "claude").rglob("*.jsonl"))
            or "tool_use" not in next((tmp_path / "claude").rglob("*.jsonl")).read_text()
        ):
            assert running_one.poll() is None
        running_one.send_signal(number)
        out, _ = running_one.communicate()
    assert running_one.returncode == 130
    assert json.loads(out)["subtype"] == "error_during_execution"
    assert chat(server, tmp_path, "-p", "again", "-c").stdout == "Again, world.\n"


@pytest.mark.parametrize(
    ("typed", "code", "told"),
    [
        (("-p",), 2, "the prompt is empty"),
        (("hello",), 2, "console"),
        (("-p", "broken"), 2, "ANTHROPIC_API_KEY"),
        (("-p", "x", "-r", "nobody"), 1, "nobody"),
        (("-p", "x", "--session-id", "7"), 2, "is not a UUID"),
        (("-p", "hello", "--max-turns", "1"), 2, "limit of 1 turn."),
        (("-p", "x", "--mcp-config", "{}x"), 2, "mcpServers"),
    ],
)
def test_what_is_wrong_is_said(
    server: MockServer, tmp_path: Path, typed: tuple[str, ...], code: int, told: str
) -> None:
    done = chat(server, tmp_path, *typed)
    assert done.returncode == code and told in done.stderr and "Traceback" not in done.stderr


def test_without_a_key_nothing_is_asked(server: MockServer, tmp_path: Path) -> None:
    done = chat(server, tmp_path, "-p", "hello", ANTHROPIC_BASE_URL="https://api.anthropic.com", ANTHROPIC_API_KEY="")
    assert done.returncode == 2 and "No key is set" in done.stderr and not (tmp_path / "claude").exists()


def test_a_terminal_gets_no_control_codes(server: MockServer, tmp_path: Path) -> None:
    assert chat(server, tmp_path, "-p", "colour").stdout == "red\n"


def test_nothing_is_kept_if_that_is_asked_for(server: MockServer, tmp_path: Path) -> None:
    done = chat(server, tmp_path, "-p", "say hello", "--no-session-persistence")
    assert done.stdout == "Hello, world.\n" and not (tmp_path / "claude").exists()
