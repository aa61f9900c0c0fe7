"""The console in lines: for screen readers, simple terminals and pipes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, TextIO, cast

import pytest

from clew.api.mock.scripts import ScriptRule
from clew.console.menu import Menu, Option
from clew.console.plain_ui import PlainUi
from tests.console.terminal import MODEL, PATIENCE, World, use, world


def talk(made: World, said: str, *words: str, **changed: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clew", "chat", "--model", MODEL, *words]
    return subprocess.run(
        command,
        input=said,
        capture_output=True,
        text=True,
        cwd=made.project,
        env=made.environment | changed,
        timeout=PATIENCE,
        check=False,
    )


def test_a_talk_in_lines_with_a_question_answered_by_number(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="make", steps=[["I will.", use("Bash", command="mkdir sub; echo made")], "It is made."]),
        ScriptRule(prompt="greet", steps=["# Hello\n\nyou"]),
    ]
    with world(tmp_path, rules) as made:
        done = talk(made, "greet me\nmake it\n1\n", "--plain")
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        for line in ("# Hello", "Call: Bash mkdir sub; echo made", "Run this command?", "1. Yes", "It is made."):
            assert line in lines, done.stdout
        assert "Result: made" in done.stdout
        assert (made.project / "sub").is_dir()
        assert [turn.text for turn in made.session.turns] == ["greet me", "make it"]
        assert not any(ord(letter) in range(0x2500, 0x2600) or letter == "\x1b" for letter in done.stdout)


def test_the_effort_is_chosen_and_saved_for_the_model(tmp_path: Path) -> None:
    said = "/effort low\ngreet\n/effort max\ngreet\n/effort\n3\ngreet\n/effort huge\n/effort auto\ngreet\n"
    with world(tmp_path, [ScriptRule(prompt="greet", steps=["Hello"])]) as made:
        done = talk(made, said, "--plain", "--model", "claude-opus-4-8")
        assert done.returncode == 0, done.stderr
        asked = [row["body"]["output_config"]["effort"] for row in made.server.rows if row["path"] == "/v1/messages"]
    assert asked == ["low", "max", "high", "high"]
    assert "is now low (saved in" in done.stdout and "is now max (in this session)" in done.stdout
    assert "'huge' is no effort. Write one of: low, medium" in done.stdout
    assert json.loads((made.claude / "settings.json").read_text()) == {"modelSettings": {"claude-opus-4-8": {}}}


def test_a_question_in_lines_holds_all_that_is_asked_for(tmp_path: Path) -> None:
    command = "cat > x <<'E'\n" + "".join(f"\techo step {n}\n" for n in range(300)) + "E\nrm -rf ./\u0455rc \u202e"
    send = use("Task", description="tidy up", prompt="tidy the project", subagent_type="general-purpose")
    write = use("Write", file_path="new.txt", content="".join(f"line {n}\n" for n in range(1, 401)))
    rules = [
        ScriptRule(prompt="tidy the project", steps=[[use("Bash", command=command)], "Tidied."]),
        ScriptRule(prompt="begin", steps=[[send], [write, use("Bash", command="touch other")], "Done."]),
    ]
    with world(tmp_path, rules) as made:
        done = talk(made, "begin\n2 not so\n3 not so\n3 not so\n", "--plain")
    lines = done.stdout.splitlines()
    assert "Asked by: agent general-purpose" in lines
    assert "Agent's task: tidy up" in lines
    assert "Folder: ~/project" in lines
    assert all(f"    \\x09echo step {n}" in lines for n in range(300))
    assert "    rm -rf ./\\u0455rc \\u202e" in lines
    assert all(f"{n:>4} + line {n}" in lines for n in range(1, 401))
    assert "Write this file? (1 of 2)" in lines
    assert "Run this command? (2 of 2)" in lines
    assert list(made.project.iterdir()) == []


@pytest.mark.parametrize("said", ["1 apple please", "fix the bug", "yes", "1.", "\u0661", "01"])
def test_a_line_that_is_no_number_answers_nothing_and_is_said_later(tmp_path: Path, said: str) -> None:
    rules = [
        ScriptRule(prompt="make", steps=[[use("Bash", command="mkdir sub")], "It is made."]),
        ScriptRule(steps=["Heard that."]),
    ]
    with world(tmp_path, rules) as made:
        done = talk(made, f"make it\n{said}\n2\n", "--plain")
        assert "It will be sent as a prompt after this question." in done.stdout
        assert not (made.project / "sub").exists() or "Allowed from now on" in done.stdout
        assert "Heard that." in done.stdout
        assert [turn.text for turn in made.session.turns] == ["make it", said]


class Keyboard:
    """A terminal that lines are typed at."""

    def __init__(self, source: TextIO) -> None:
        self._source = source

    def isatty(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.readline, "")


@pytest.mark.parametrize("pause", [3600.0, 0.0])
def test_a_line_typed_before_a_question_can_be_read_does_not_answer_it(pause: float) -> None:
    async def ask() -> tuple[Any, str]:
        below, above = os.pipe()
        shown = StringIO()
        with os.fdopen(below) as source, os.fdopen(above, "w") as typing:
            lines = PlainUi(cast(TextIO, Keyboard(source)), shown, pause)
            menu = Menu("May it?", [Option("Yes", True), Option("No", False)], is_sudden=True)
            typing.write("1\n\n")
            typing.flush()
            choosing = asyncio.create_task(lines.choose(menu))
            while not lines._held_lines and not choosing.done():
                await asyncio.sleep(0.01)
            if pause:
                assert not choosing.done()
                lines._ignore_lines_until = 0.0
                typing.write("2\n")
            typing.close()
            return await asyncio.wait_for(choosing, PATIENCE), shown.getvalue()

    answer, shown = asyncio.run(ask())
    assert answer.value is (pause == 0)
    assert "May it?" in shown


def test_a_simple_terminal_gets_lines_too_and_a_pipe_is_told_what_to_do(tmp_path: Path) -> None:
    with world(tmp_path, [ScriptRule(prompt="hi", steps=["hello"])]) as made:
        assert "hello" in talk(made, "hi\n", TERM="dumb").stdout
        done = talk(made, "hi\n")
        assert done.returncode == 2
        assert "clew chat -p PROMPT" in done.stderr


def test_without_a_key_it_says_what_is_missing(tmp_path: Path) -> None:
    with world(tmp_path, []) as made:
        done = talk(made, "hi\n", "--plain", "--base-url", "https://api.anthropic.com", ANTHROPIC_API_KEY="")
        assert done.returncode == 2
        assert "ANTHROPIC_API_KEY" in done.stderr


def test_every_command_says_something(tmp_path: Path) -> None:
    todos = [{"content": "Mend it", "status": "pending", "activeForm": "Mending"}]
    rules = [ScriptRule(prompt="plan", steps=[[use("TodoWrite", todos=todos)], "Planned."])]
    with world(tmp_path, rules) as made:
        (made.project / "CLAUDE.md").write_text("Be brief.\n")
        (made.project / ".claude" / "commands").mkdir(parents=True)
        (made.project / ".claude" / "commands" / "greet.md").write_text(
            "---\ndescription: says hello\n---\nplan $ARGUMENTS\n"
        )
        said = [
            "/help",
            "plan it",
            "/todos",
            "/cost",
            "/context",
            "/permissions allow Bash(make:*)",
            "/permissions",
            "/memory",
            "/agents",
            "/hooks",
            "/mcp",
            "/tasks",
            "/config",
            "/doctor",
            "/add-dir",
            "/add-dir ..",
            "/copy",
            "/rename The great plan",
            "/export out.md",
            "/model opusplan",
            "/model haiku",
            "/status",
            "/greet you",
            "/nothing",
            "/branch A way of its own",
            "/resume 00000000",
            "plan again",
            "/exit",
        ]
        done = talk(made, "\n".join([*said, ""]), "--plain")
        assert done.returncode == 0, done.stderr
        for text in (
            "/rewind: go back",
            "/greet: says hello",
            "Todo, to do: Mend it",
            "Total cost: $",
            "■ Messages: ",
            "Check",
            "Settings",
            "Name a folder: /add-dir FOLDER",
            f"The model may use {made.root} in this session.",
            "This terminal has no clipboard that a program can write.",
            "allow (session): Bash(make:*)",
            "CLAUDE.md (",
            "general-purpose: ",
            "none: configure them in settings.json",
            "none: add them to .mcp.json",
            "There are no background tasks.",
            "The session is now called The great plan.",
            f"Exported to {made.project / 'out.md'}",
            "The model is now claude-sonnet-5-5 (in plan mode claude-opus-5-5, else claude-sonnet-5-5).",
            "The model is now claude-haiku-5-5.",
            f"server: {made.server.url}",
            "Error: There is no command /nothing.",
            "You continue in a copy.",
            "Error: No session matches '00000000'.",
        ):
            assert text in done.stdout, f"{text}\n{done.stdout}"
        assert "plan it" in (made.project / "out.md").read_text()
        first, second = sorted(made.claude.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
        assert made.session.title == "A way of its own"
        assert "plan you" in first.read_text()
        assert "plan again" in second.read_text()
        assert "plan again" not in first.read_text()


def test_a_session_that_cannot_be_opened_again_ends_the_console(tmp_path: Path) -> None:
    """Reopening the previous session was tried again and again, for ever, also when the terminal was gone."""
    replaces = '! for each in "$CLAUDE_CONFIG_DIR"/projects/*/*.jsonl; do rm "$each"; mkdir "$each"; done'
    with world(tmp_path, [ScriptRule(prompt="hi", steps=["hello"])]) as made:
        done = talk(made, f"hi\n{replaces}\n/resume 00000000\n/exit\n", "--plain")
        assert done.returncode == 1, done.stdout + done.stderr
        assert "No session matches '00000000'." in done.stdout
