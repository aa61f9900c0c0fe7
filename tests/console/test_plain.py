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


def test_every_command_says_something(tmp_path: Path) -> None:
    todos = [{"content": "Mend it", "status": "pending", "activeForm": "Mending"}]
    rules = [Rule(prompt="plan", steps=[[use("TodoWrite", todos=todos)], "Planned."])]
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
            "/rename The great plan",
            "/export out.md",
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
            "in all: $",
            "instructions and tools: ",
            "allow (local): Bash(make:*)",
            "CLAUDE.md (",
            "general-purpose: ",
            "none: they are set in settings.json",
            "none: name them in .mcp.json",
            "Nothing runs in the background.",
            "The session is now called The great plan.",
            f"Exported to {made.project / 'out.md'}",
            "From now on claude-haiku-5-5 is asked.",
            f"server: {made.server.url}",
            "Error: There is no command /nothing.",
            "This goes on in a copy.",
            "Error: No session answers to '00000000'.",
        ):
            assert text in done.stdout, f"{text}\n{done.stdout}"
        assert "plan it" in (made.project / "out.md").read_text()
        first, second = sorted(made.claude.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
        assert made.session.title == "A way of its own"
        assert "plan you" in first.read_text()
        assert "plan again" in second.read_text()
        assert "plan again" not in first.read_text()
