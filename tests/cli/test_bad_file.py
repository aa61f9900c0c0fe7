"""One bad file, folder or link in a home: it is named in one line, the rest is shown, and the exit code says so."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import clew as library
from clew.cli import main
from clew.demo.talk import talk
from clew.demo.tool_inputs import bash

BAD, GOOD = "bad00000-0000-4000-8000-000000000001", "600d0000-0000-4000-8000-000000000002"
MANY = (
    ["ls"],
    ["ls", "--json"],
    ["usage"],
    ["usage", "session"],
    ["search", "pears"],
    ["search", "--substring", "pears"],
)
ONE = ("show", "trace", "check", "export", "lineage", "clone", "repair", "drop", "rewind", "trim", "compact", "redact")
ANSWERS = {"drop": ["--turn", "1"], "compact": ["--extractive"], "trim": ["--preset", "heavy"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "claude"
    talk(session_id=GOOD, cwd="/home/ada/orchard").user("How are the pears?").reply("The pears are ripe.").write(made)
    return made


def clew(words: list[str], root: Path, seconds: int = 60) -> subprocess.CompletedProcess[str]:
    home = root.parent
    surroundings = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "COLUMNS": "200"}
    surroundings |= {"XDG_DATA_HOME": str(home / "data"), "XDG_STATE_HOME": str(home / "state")}
    command = [sys.executable, "-P", "-m", "clew", *words, "--claude-dir", str(root)]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=seconds, cwd=home)
    assert "Traceback" not in done.stderr and "Internal error" not in done.stderr, done.stderr
    return done


# -- values that no reader expects

_DEEP = "[" * 3000 + "]" * 3000
EXTREMES: dict[str, Callable[[str], str]] = {
    "a time before the first year": lambda line: line.replace(
        '"timestamp":"2026', '"timestamp":"0001-01-01T00:00:00+14:00","x":"'
    ),
    "a time after the last year": lambda line: line.replace(
        '"timestamp":"2026', '"timestamp":"9999-12-31T23:59:59.999Z","x":"'
    ),
    "a branch that is half a letter": lambda line: line.replace('"gitBranch":"', '"gitBranch":"\\ud800'),
    "a call whose id is a list": lambda line: line.replace('"type":"tool_use","id":', '"type":"tool_use","id":[],"x":'),
    "a result whose call is an object": lambda line: line.replace('"tool_use_id":', '"tool_use_id":{},"x":'),
    "a duration without end": lambda line: line.replace('"durationMs":', f'"durationMs":1{"0" * 400},"x":'),
    "an input nested 3,000 deep": lambda line: line.replace('"input":{', f'"input":{{"deep":{_DEEP},'),
    "an input nested 900 deep": lambda line: line.replace('"input":{', f'"input":{{"deep":{_DEEP[2100:3900]},'),
    "tokens below zero": lambda line: line.replace(
        '"cache_read_input_tokens":', '"cache_read_input_tokens":-1' + "0" * 19 + ',"x":'
    ),
    "more tokens than there are atoms": lambda line: line.replace(
        '"output_tokens":', f'"output_tokens":1{"0" * 80},"x":'
    ),
    "a model that is half a letter": lambda line: line.replace('"model":"', '"model":"\\udfff'),
    "a type that is a number": lambda line: line.replace('"type":"user"', '"type":7'),
    "a time that is an object": lambda line: line.replace('"timestamp":', '"timestamp":{},"x":'),
}


def hostile(root: Path, change: Callable[[str], str]) -> Path:
    made = talk(session_id=BAD, cwd="/home/ada/orchard").user("Look.").reply("I do.", call=bash("ls")).result("a")
    made.reply("Done.").turn_duration(1200).user("And now?").reply("That is all.").write(root)
    path = next(root.glob(f"projects/*/{BAD}.jsonl"))
    before = path.read_text()
    after = "".join(map(change, before.splitlines(keepends=True)))
    assert after != before, "the change has no effect"
    path.write_text(after)
    return path


Typed = Callable[[list[str], Path], tuple[int, str, str]]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type a command in this process: the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    def run(words: list[str], root: Path) -> tuple[int, str, str]:
        code = main([*words, "--claude-dir", str(root)])
        out, err = capsys.readouterr()
        assert "Internal error" not in err and "unexpected" not in err, (words, err)
        return code, out, err

    return run


@pytest.mark.parametrize("change", EXTREMES.values(), ids=EXTREMES)
def test_an_extreme_value_hides_no_other_session(change: Callable[[str], str], root: Path, typed: Typed) -> None:
    path = hostile(root, change)
    for words in (["ls"], ["usage", "session"], ["search", "pears"], ["check", "--all", "--json"]):
        assert GOOD[:8] in typed(words, root)[1], words
    for command in ONE:
        code, _, _ = typed([command, str(path), *ANSWERS.get(command, [])], root)
        assert code in (0, 1, 2), command
    for session in library.sessions(claude=root):
        library.request(session)
        assert all(turn.seconds is None or turn.seconds >= 0 for turn in session.turns)


# -- a file system that is not what it was


def looping(path: Path) -> None:
    path.symlink_to(path.name)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


ODD: dict[str, Callable[[Path], object]] = {
    "a link that loops": looping,
    "a link to nowhere": lambda path: path.symlink_to("/nowhere/at/all"),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to the folder above": lambda path: path.symlink_to(".."),
    "a pipe": fifo,
    "a socket": bound,
    "a folder": Path.mkdir,
    "an empty file": Path.touch,
    "junk": lambda path: path.write_bytes(b"\xff\x00{[" * 1000),
}
PLACES = (
    f"projects/-x/{BAD}.jsonl",
    "projects/-x/agent-abc.jsonl",
    f"projects/-a/{BAD}",
    f"projects/-b/{BAD}/subagents",
    f"projects/-c/{BAD}/subagents/agent-abc.jsonl",
    f"projects/-c/{BAD}/subagents/agent-abc.meta.json",
    f"projects/-c/{BAD}/tool-results",
    "projects/-d/subagents",
    "projects/-x/sessions-index.json",
    "projects/-home-ada-orchard/sessions-index.json",
    "projects/loop",
    "history.jsonl",
    "stats-cache.json",
    "settings.json",
    "todos",
    "file-history",
)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_whatever_lies_in_the_home_the_rest_is_shown(make: Callable[[Path], object], root: Path, typed: Typed) -> None:
    for place in PLACES:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        make(root / place)
    for words in MANY:
        code, out, err = typed(words, root)
        assert code in (0, 1), (words, err)
        assert GOOD[:8] in out or words == ["usage"], (words, out, err)
    for words in (
        ["ls", "projects"],
        ["ls", "agents"],
        ["ls", "prompts"],
        ["usage", "--reconcile"],
        ["check", "--all"],
    ):
        assert typed(words, root)[0] in (0, 1, 2)


def test_a_link_that_loops_is_named_once_and_the_exit_code_says_so(root: Path) -> None:
    looping(root / "projects" / "loop")
    for words in (["ls"], ["usage"]):
        done = clew(words, root)
        assert done.returncode == 1
        assert done.stderr.count("Skipped") == 1
        assert f"Skipped {root / 'projects' / 'loop'}: Too many levels of symbolic links." in done.stderr
    assert clew(["ls", "--quiet"], root).stderr == ""


def test_a_folder_whose_name_is_not_text_is_named(root: Path) -> None:
    (root / "projects" / os.fsdecode(b"\xff\xfe")).mkdir()
    done = clew(["usage"], root)
    assert done.returncode == 1 and "its name is not valid UTF-8" in done.stderr
    assert GOOD[:8] in clew(["ls"], root).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="a user cannot become another one")
def test_what_another_user_may_not_read_is_named() -> None:
    """Root may read everything, so this is run as nobody, in a folder that everybody can reach."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "claude")
        for id, prompt in ((GOOD, "How are the pears?"), (BAD, "Hidden.")):
            talk(session_id=id, cwd="/home/ada/orchard").user(prompt).reply("Yes.").write(root)
        bad = next(root.glob(f"projects/*/{BAD}.jsonl"))
        closed = root / "projects" / "-closed"
        closed.mkdir()
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        bad.chmod(0)
        closed.chmod(0)
        # A Python in the home of root cannot be read by nobody, so modules that few texts need are loaded before.
        script = (
            "import os, re, sys\nfrom clew.cli import main\nmain(['ls', '--quiet', '--claude-dir', '/nowhere'])\n"
            f"os.setgid(65534); os.setuid(65534)\nsys.exit(main(['ls', '--claude-dir', {str(root)!r}]))"
        )
        done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, done.stderr
        assert GOOD[:8] in done.stdout and BAD[:8] not in done.stdout
        assert f"Skipped {bad}: Permission denied." in done.stderr
        assert f"Skipped {closed}: Permission denied." in done.stderr


def test_a_home_that_is_a_file_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "claude").write_text("")
    done = clew(["ls"], tmp_path / "claude")
    assert done.returncode == 1 and done.stdout == ""


def test_an_export_of_a_project_leaves_out_what_cannot_be_read(root: Path) -> None:
    path = next(root.glob(f"projects/*/{GOOD}.jsonl")).with_name(f"{BAD}.jsonl")
    looping(path)
    done = clew(["export", "--project", "orchard", "--format", "markdown", "-o", str(root.parent / "out")], root)
    assert done.returncode == 0 and list((root.parent / "out").glob("*.md"))


def test_an_internal_error_is_one_sentence_and_the_traceback_is_for_those_who_ask(root: Path, tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text(json.dumps({"models": []}))
    done = clew(["usage", "--prices", str(tmp_path / "prices.json")], root)
    assert done.returncode == 2 and done.stderr.startswith("clew: ")
