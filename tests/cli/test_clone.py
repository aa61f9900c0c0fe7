"""`clew clone` and `clew drop`: copies of sessions, whole or in part."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import clew
from clew.cli import main
from clew.demo.talk import bash, talk
from tests.cli.hand_written import ONE, reply, result, text, use, user, write

pytestmark = pytest.mark.portable

ID = "3f2a0000-0000-4000-8000-000000000000"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    told = talk(ID, cwd="/home/ada/garden").user("one").reply("1", call=bash("ls")).result("a").reply("first")
    told.user("two").reply("second").user("three").reply("third").write(tmp_path / "claude")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "claude"


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        return code, *capsys.readouterr()

    return call


def made(out: str) -> clew.Session:
    """The session whose id stands on a line of its own."""
    return clew.find(next(line for line in out.splitlines() if len(line) == len(ID) and line.count("-") == 4))


def prompts(session: clew.Session) -> list[str]:
    return [turn.text for turn in session.turns]


def test_a_clone_is_made_beside_the_session(run: Run, root: Path) -> None:
    code, out, err = run("clone", "3f2a")
    copy = made(out)
    assert (code, err) == (0, "")
    assert f"cd /home/ada/garden && claude -r {copy.id}" in out
    assert prompts(copy) == ["one", "two", "three"]
    assert len(list((root / "projects" / "-home-ada-garden").glob("*.jsonl"))) == 2


@pytest.mark.req("R299")
def test_a_clone_of_a_session_that_spans_versions(run: Run, root: Path) -> None:
    asked = reply(2, use("toolu_1", "Read", file_path="/a"), stop="tool_use", version="2.0.37")
    answered = {**result(3, "toolu_1", "x"), "version": "2.0.42"}
    lines = [user(1, "go", version="2.0.37"), asked, answered, reply(4, text("done"), version="2.1.45")]
    source = clew.Session(write(root, ONE, *lines))
    code, out, _ = run("clone", ONE)
    copy = made(out)
    assert code == 0 and copy.path is not None
    written = [json.loads(line) for line in copy.path.read_text().splitlines()][:4]
    assert [line["version"] for line in written] == ["2.0.37", "2.0.37", "2.0.42", "2.1.45"]
    assert [line["message"] for line in written] == [line["message"] for line in lines]
    assert [call.output for call in copy.calls] == ["x"]
    assert clew.request(copy).messages == clew.request(source).messages


@pytest.mark.parametrize(("at", "left"), [("2", ["one", "two"]), ("-1", ["one", "two", "three"]), ("-3", ["one"])])
def test_a_clone_up_to_a_turn(run: Run, at: str, left: list[str]) -> None:
    assert prompts(made(run("clone", ID, "--at", at)[1])) == left


def test_a_clone_in_another_project(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plot").mkdir()
    copy = made(run("clone", ID, "--to", str(tmp_path / "plot"))[1])
    assert copy.cwd == str(tmp_path / "plot")
    assert copy.path is not None
    assert copy.path.parent.name.endswith("-plot")


def test_a_folder_that_nobody_knows(run: Run) -> None:
    code, _, err = run("clone", ID, "--to", "nowhere")
    assert code == 1
    assert "'nowhere'" in err


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--turn", "2"], ["one", "three"]),
        (["--turn", "1-2"], ["three"]),
        (["--turn", "1", "-1"], ["two"]),
        (["--keep", "1", "3"], ["one", "three"]),
    ],
)
def test_turns_are_left_out(run: Run, words: list[str], left: list[str]) -> None:
    assert prompts(made(run("drop", ID, *words)[1])) == left


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--turn", "9"], 1, "No turn matches '9'"),
        (["--turn", "1-3"], 2, "no turn would be left"),
        (["--turn", "x"], 2, "Invalid turn range 'x'"),
        ([], 2, "one of the arguments --turn --keep is required"),
    ],
)
def test_what_cannot_be_left_out(run: Run, words: list[str], code: int, says: str) -> None:
    found, out, err = run("drop", ID, *words)
    assert (found, out) == (code, "")
    assert says in err


@pytest.mark.req("R301")
def test_a_dry_run_and_a_diff_write_nothing(run: Run, root: Path) -> None:
    code, out, _ = run("drop", ID, "--turn", "2", "--dry-run")
    assert code == 0
    assert "Would make a session of 3f2a0000: 2 of 3 turns" in out
    code, out, _ = run("drop", ID, "--turn", "2", "--diff")
    assert [line.split(None, 2)[0] for line in out.splitlines()][:2] == ["-", "-"]
    assert "user prompt: two" in out
    assert len(list(root.rglob("*.jsonl"))) == 1


def test_json(run: Run, root: Path) -> None:
    _, out, _ = run("drop", ID, "--turn", "2", "--json")
    told = json.loads(out)
    assert told["clew"] == 1
    assert told["written"] is True
    assert told["turns"] == {"before": 3, "after": 2}
    assert prompts(clew.find(told["id"])) == ["one", "three"]


def test_a_clone_ends_with_another_branch(tmp_path: Path, run: Run) -> None:
    told = (
        talk("4f2a0000-0000-4000-8000-000000000000", cwd="/home/ada/garden")
        .user("one")
        .reply("1")
        .user("two")
        .reply("2")
    )
    told.rewind(to=2).user("other").reply("3").write(tmp_path / "claude")
    assert prompts(made(run("clone", "4f2a", "--at", "b1")[1])) == ["one", "two"]
    assert prompts(made(run("clone", "4f2a", "--at", "b2")[1])) == ["one", "other"]
    assert run("clone", "4f2a", "--at", "b3")[0] == 1
