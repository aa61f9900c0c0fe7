"""What could stand where somebody is typing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from clew.console.prompt_completion import MAX_COMPLETIONS, NamedCommand, find_completions, project_files

COMMANDS = [
    NamedCommand("compact", "replace the conversation by a summary", "[what]"),
    NamedCommand("context", "the window"),
    NamedCommand("cost", "money"),
]
FILES = ["src/", "docs/", "src/main.py", "src/domain.py", "a file.txt", "docs/guide.md"]


def told(before: str) -> list[str]:
    return [offer.text for offer in find_completions(before, COMMANDS, FILES)]


def test_commands_behind_a_slash_at_the_beginning() -> None:
    assert told("/") == ["/compact", "/context", "/cost"]
    assert told("/con") == ["/context"]
    assert told("/cpt") == ["/compact"]
    assert told("say /con") == []
    assert told("/compact now") == []
    [compact] = find_completions("/comp", COMMANDS, FILES)
    assert (compact.about, compact.hint) == ("replace the conversation by a summary", "[what]")


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("@main", "@src/main.py"),
        ("look at @gui", "@docs/guide.md"),
        ("(@src", "@src/"),
        ("@a\\ f", "@a\\ file.txt"),
    ],
)
def test_files_behind_an_at(before: str, first: str) -> None:
    found = find_completions(before, COMMANDS, FILES)
    assert found[0].text == first
    assert before[found[0].start] == "@"


def test_an_address_is_no_file() -> None:
    assert told("me@main") == []
    assert told("plain words") == []


def test_at_most_some_are_offered() -> None:
    assert len(find_completions("@f", (), [f"f{n}" for n in range(100)])) == MAX_COMPLETIONS


def test_the_files_of_a_project(tmp_path: Path) -> None:
    for name in ("a/b/c.txt", "d.txt", ".git/config", "node_modules/x.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert project_files(tmp_path) == ["a/b/", "a/", "d.txt", "a/b/c.txt"]


def test_the_files_of_a_repository_are_those_that_git_does_not_ignore(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "kept.txt").touch()
    (tmp_path / "left.log").touch()
    assert sorted(project_files(tmp_path)) == [".gitignore", "kept.txt"]


def test_a_repository_of_a_stranger_runs_nothing(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "kept.txt").touch()
    program, trace = tmp_path / "program.sh", tmp_path / "trace"
    program.write_text(f"#!/bin/sh\ntouch {trace}\n")
    program.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(program)], cwd=tmp_path, check=True)
    assert sorted(project_files(tmp_path)) == ["kept.txt", "program.sh"]
    assert not trace.exists()
