"""`clew resume`: the right session, from the right folder, and never a guess."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from clew.cli.chat import resume
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import Talk, talk

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CLAUDE_SESSION_ID", raising=False)
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of a project that exists."""
    folder = tmp_path / "my garden"
    folder.mkdir()
    return folder


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called claude that says where it runs and what it was told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    file = folder / "claude"
    file.write_text('#!/bin/sh\npwd\necho "$CLAUDE_CONFIG_DIR"\necho "$@"\nexit 7\n')
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return file


def about(words: str, seed: int, cwd: str = "/home/ada/garden") -> Talk:
    return talk(seed=seed, cwd=cwd).user(words).reply("Done.")


def options(claude: Path, *words: str) -> object:
    parser = ArgumentParser()
    resume.add_arguments(parser)
    return parser.parse_args([*words, "--claude-dir", str(claude)])


@pytest.mark.req("R221")
def test_the_command_of_a_session_by_its_id(clew: Run, demo: DemoSummary, claude: Path) -> None:
    session = demo.sessions["rounding"]
    line = f"cd /home/ada/work/bakery-orders && CLAUDE_CONFIG_DIR={claude} claude -r {session}\n"
    assert clew("resume", session, "--print") == (0, line, "")
    assert clew("resume", session[:6], "--print") == (0, line, "")
    assert clew("resume", session, "--print", "--fork")[1] == line.replace("\n", " --fork-session\n")


@pytest.mark.req("R221")
def test_the_default_folder_needs_no_name(
    demo: DemoSummary, claude: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from clew.cli import main

    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(claude))
    assert main(["resume", demo.sessions["sensor"], "--print"]) == 0
    assert capsys.readouterr().out == f"cd /home/ada/src/drip && claude -r {demo.sessions['sensor']}\n"


def test_a_session_by_what_was_said_in_it(clew: Run, demo: DemoSummary) -> None:
    code, out, err = clew("resume", "override", "--json")
    [value] = map(json.loads, out.splitlines())
    assert (code, err, value["session"]) == (0, "", demo.sessions["agents"])
    assert value["exists"] is False and value["command"].startswith("cd /home/ada/src/drip && ")


def test_it_becomes_claude_in_the_folder_of_the_session(home: Path, claude: Path, program: Path) -> None:
    path = about("Water the tulips", 1, str(home)).write(claude)
    clew = [sys.executable, "-m", "clew", "resume", "tulips", "--claude-dir", str(claude)]
    done = subprocess.run(clew, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.stdout.splitlines() == [str(home), str(claude), f"-r {path.stem}"]
    assert done.returncode == 7
    assert "Water the tulips" in done.stderr


def test_what_is_executed(
    home: Path, claude: Path, program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = about("Water the tulips", 1, str(home)).write(claude)
    monkeypatch.chdir(claude)
    told: list[tuple[str, tuple[str, ...], Mapping[str, str], Path]] = []

    def execute(name: str, words: Sequence[str], variables: Mapping[str, str]) -> None:
        told.append((name, tuple(words), variables, Path.cwd()))

    assert resume.run(options(claude, path.stem, "--fork", "-q"), execute) == 0  # type: ignore[arg-type]
    words = ("claude", "-r", path.stem, "--fork-session")
    assert told == [(str(program), words, {"CLAUDE_CONFIG_DIR": str(claude)}, home)]
    assert capsys.readouterr() == ("", "")


def test_a_folder_that_is_gone(clew: Run, demo: DemoSummary, program: Path) -> None:
    code, out, err = clew("resume", demo.sessions["rounding"])
    assert code == 2
    lines = err.splitlines()
    assert lines[0] == "clew: the folder of this session does not exist: /home/ada/work/bakery-orders"
    assert lines[1:] == ["If it was moved or renamed: clew move /home/ada/work/bakery-orders NEW"]
    assert out.startswith("cd /home/ada/work/bakery-orders && ")


def test_no_claude_on_the_path(clew: Run, home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = about("Water the tulips", 1, str(home)).write(claude)
    monkeypatch.setenv("PATH", str(home))
    code, out, err = clew("resume", path.stem)
    assert (code, err) == (
        2,
        "clew: claude is not on the PATH. Install Claude Code, or run the command below where it is.\n",
    )
    assert out == f"cd '{home}' && CLAUDE_CONFIG_DIR={claude} claude -r {path.stem}\n"


def test_a_session_that_moved_is_resumed_where_its_project_is(clew: Run, claude: Path) -> None:
    """Claude Code looks for a session in the folder that its project is named for."""
    path = about("Water the tulips", 1, "/home/ada/garden").write(claude)
    path.write_bytes(path.read_bytes().replace(b'"cwd":"/home/ada/garden"', b'"cwd":"/home/ada/garden/shed"', 1))
    about("Dig", 2, "/home/ada/garden").write(claude)
    assert clew("resume", path.stem, "--print")[1].startswith("cd /home/ada/garden && ")


# -- several that may be meant


@pytest.fixture
def twins(claude: Path) -> list[Path]:
    return [about("Prune the roses", seed).write(claude) for seed in (1, 2)]


def test_nobody_to_ask_means_no_guess(clew: Run, twins: list[Path]) -> None:
    code, out, err = clew("resume", "roses")
    assert (code, out) == (2, "")
    assert err.startswith("clew: 'roses' may mean 2 sessions. Name one by its id:\n")
    assert all(path.stem[:8] in err for path in twins)
    code, out, _ = clew("resume", "roses", "--json")
    values = [json.loads(line) for line in out.splitlines()]
    assert code == 2 and {v["session"] for v in values} == {p.stem for p in twins}
    assert {v["kind"] for v in values} == {"candidate"}


def test_a_beginning_of_several_ids(clew: Run, claude: Path) -> None:
    ids = ["abcd1111-0000-4000-8000-000000000001", "abcd2222-0000-4000-8000-000000000002"]
    for number in ids:
        talk(number).user("hi").reply("hello").write(claude)
    code, out, err = clew("resume", "abcd")
    assert (code, out) == (2, "") and "abcd1111" in err and "abcd2222" in err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "code", "asked"), [("2\n", 0, 1), ("9\nx\n1\n", 0, 3), ("\n", 1, 1), ("", 1, 1)])
def test_a_numbered_choice_on_a_terminal(
    clew: Run, twins: list[Path], monkeypatch: pytest.MonkeyPatch, typed: str, code: int, asked: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    done, out, err = clew("resume", "roses", "--print")
    assert (done, err.count("Which one? 1-2")) == (code, asked)
    rows = [line.split()[1] for line in err.splitlines() if "Prune the roses" in line]
    assert len(rows) == 2
    if code == 0:
        assert f"claude -r {rows[int(typed.split()[-1]) - 1]}" in out


def test_short_words_are_words_and_no_ids(clew: Run, claude: Path) -> None:
    talk("add00000-0000-4000-8000-000000000001").user("hi").reply("hello").write(claude)
    wanted = about("Please add a fence", 2).write(claude)
    assert wanted.stem in clew("resume", "add", "--print")[1]
    assert "add00000" in clew("resume", "add0", "--print")[1]


@pytest.mark.req("R226")
def test_the_session_that_asks_is_not_meant(clew: Run, twins: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_SESSION_ID", twins[0].stem)
    code, out, _ = clew("resume", "roses", "--print")
    assert code == 0 and f"claude -r {twins[1].stem}" in out
    assert clew("resume", "roses", "--print", "--include-current")[0] == 2


def test_nothing_that_answers(clew: Run, twins: list[Path]) -> None:
    code, out, err = clew("resume", "roses", "project:nowhere", "--print")
    assert (code, out) == (1, "") and err.startswith("clew: No session matches ")


def test_titles_cannot_drive_the_terminal_nor_tell_secrets(clew: Run, claude: Path) -> None:
    token = "gh" + "p_" + "Demo" * 9
    for seed in (1, 2):
        about(f"Prune \x1b[31mroses with {token}", seed).write(claude)
    _, _, err = clew("resume", "prune")
    assert "\x1b" not in err and token not in err and "Prune roses" in err
