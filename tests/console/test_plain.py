"""The console in lines: for screen readers, simple terminals and pipes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from clew.api.script import Rule
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
        Rule(prompt="make", steps=[["I will.", use("Bash", command="mkdir sub; echo made")], "It is made."]),
        Rule(prompt="greet", steps=["# Hello\n\nyou"]),
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


def test_a_simple_terminal_gets_lines_too_and_a_pipe_is_told_what_to_do(tmp_path: Path) -> None:
    with world(tmp_path, [Rule(prompt="hi", steps=["hello"])]) as made:
        assert "hello" in talk(made, "hi\n", TERM="dumb").stdout
        done = talk(made, "hi\n")
        assert done.returncode == 2
        assert "clew chat -p PROMPT" in done.stderr


def test_without_a_key_it_says_what_is_missing(tmp_path: Path) -> None:
    with world(tmp_path, []) as made:
        done = talk(made, "hi\n", "--plain", "--base-url", "https://api.anthropic.com", ANTHROPIC_API_KEY="")
        assert done.returncode == 2
        assert "ANTHROPIC_API_KEY" in done.stderr
