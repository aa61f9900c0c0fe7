"""`clew compare` and `clew race`, as they are typed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clew.api.mock.scripts import MockScript, ScriptRule
from clew.api.mock.server import running
from clew.chat.replay.scratch_folder import copy_project
from clew.cli.read.compare import parse_sides
from clew.cli.run_command import command_parser
from clew.conversation.load import read
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import talk, write

ID = "3f2a0000-0000-4000-8000-000000000000"
Run = Callable[..., tuple[int, str, str]]

SCRIPT = MockScript(
    rules=[
        ScriptRule(
            prompt="make b.txt",
            model=model,
            steps=[[{"tool": "Write", "input": {"file_path": "b.txt", "content": f"{text}\n"}}], f"It says {text}."],
        )
        for model, text in (("claude-one", "uno"), ("claude-two", "due"))
    ],
    otherwise=["Yes."],
)


def test_the_branches_of_a_session_are_compared(clew: Run, demo: DemoSummary) -> None:
    code, out, err = clew("compare", "b5d5")
    assert (code, err) == (0, "")
    assert out.startswith("1 turn is the same in b5d583b5@b2 and b5d583b5@b3.\n")
    assert "--- b5d583b5@b2/src/orders/hours.py" in out
    assert "-HOLIDAYS: set[str] = set()" in out
    only = clew("compare", "b5d5@1", "b5d5@b2", "--files")[1]
    assert only.splitlines()[0].strip() == "--- b5d583b5@1/src/orders/hours.py"


def test_a_comparison_as_json(clew: Run, demo: DemoSummary) -> None:
    code, out, _ = clew("compare", "b5d5@b1", "b5d5@b2", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(row["kind"], row.get("side")) for row in rows] == [("way", "a"), ("way", "b"), ("file", None)]
    assert [len(row["turns"]) for row in rows[:2]] == [1, 2]
    assert rows[2]["path"] == "src/orders/hours.py"


def test_a_session_on_both_sides_is_read_once(demo: DemoSummary) -> None:
    """Two points of a session of 100 MB took twice the time and the memory of one."""
    of_one = command_parser("compare").parse_args(["b5d583b5@b1", "b5d5@b2", "--claude-dir", str(demo.root)])
    left, right = parse_sides(of_one)
    assert left.session is right.session
    assert [len(side.turns) for side in (left, right)] == [2, 3]
    of_two = command_parser("compare").parse_args(["b5d5@b1", "a922", "--claude-dir", str(demo.root)])
    left, right = parse_sides(of_two)
    assert left.session is not right.session


def test_what_is_the_same_has_nothing_to_tell(clew: Run, demo: DemoSummary) -> None:
    code, out, err = clew("compare", "b5d5@1", "b5d5@1")
    assert code == 1
    assert "No file differs" in err and "---" not in out
    assert clew("compare", "b5d5@7", "b5d5")[0] == 1
    code, _, err = clew("compare", "a922")
    assert (code, err.splitlines()[-1]) == (
        1,
        "Name both sides: clew compare A B. List the branches with: clew trace",
    )


@pytest.fixture
def session(tmp_path: Path, claude: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A session in a folder, and a server that two models answer from."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("a\n")
    (project / "link").symlink_to("a.txt")
    told = talk(ID, cwd=str(project)).user("hello").reply("Hello.").user("make b.txt").reply(call=write("b.txt", "0\n"))
    told.result().reply("There.").write(claude)
    with running(SCRIPT) as server:
        for name in [name for name in os.environ if name.startswith(("CLAUDE", "ANTHROPIC"))]:
            monkeypatch.delenv(name)
        for name, value in {
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "HOME": str(tmp_path),
            "XDG_DATA_HOME": str(tmp_path / "data"),
            "TMPDIR": str(tmp_path),
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("tempfile.tempdir", None)
        yield project


def test_two_models_work_in_copies_of_the_folder(clew: Run, session: Path) -> None:
    code, out, err = clew("race", "3f2a", "--model", "claude-one,claude-two", "--copy")
    assert (code, err) == (0, "")
    assert out.count("claude -r ") == 2
    assert "1 turn is the same in claude-one and claude-two." in out
    assert "It says uno." in out and "It says due." in out
    assert [
        line.strip() for line in out.splitlines() if line.lstrip().startswith(("-", "+")) and "b.txt" not in line
    ] == [
        "-uno",
        "+due",
    ]
    assert sorted(path.name for path in session.iterdir()) == ["a.txt", "link"]


def test_without_a_copy_nothing_is_changed(clew: Run, session: Path) -> None:
    code, out, _ = clew("race", "3f2a", "--at", "0", "--prompt", "make b.txt", "--model", "claude-one", "--json")
    row = json.loads(out.splitlines()[0])
    assert (code, row["kind"], row["model"]) == (0, "run", "claude-one")
    assert [denial["tool_name"] for denial in row["result"]["permission_denials"]] == ["Write"]
    assert not (session / "b.txt").exists()
    assert [turn.text for turn in read(row["path"]).turns] == ["make b.txt"]


def test_something_new_is_said_behind_the_last_turn(clew: Run, session: Path) -> None:
    code, out, _ = clew("race", "3f2a", "--prompt", "And now?", "--model", "claude-one", "--json", "--max-turns", "3")
    row = json.loads(out.splitlines()[0])
    assert (code, row["result"]["result"]) == (0, "Yes.")
    assert [turn.text for turn in read(row["path"]).turns] == ["hello", "make b.txt", "And now?"]
    assert clew("race", "3f2a", "--at", "7", "--model", "claude-one")[0] == 1


def test_a_copy_has_what_git_would_track(tmp_path: Path) -> None:
    import subprocess

    project = tmp_path / "project"
    (project / "deep").mkdir(parents=True)
    for name, text in {".gitignore": "*.o\n", "a.c": "a", "a.o": "o", "deep/b.c": "b"}.items():
        (project / name).write_text(text)
    (project / "deep" / "link").symlink_to("../a.c")
    made = copy_project(project, tmp_path / "all")
    assert sorted(p.name for p in made.rglob("*")) == [".gitignore", "a.c", "a.o", "b.c", "deep", "link"]
    assert (made / "deep/link").is_symlink()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    made = copy_project(project, tmp_path / "tracked")
    assert sorted(p.name for p in made.rglob("*")) == [".gitignore", "a.c", "b.c", "deep", "link"]


def test_race_needs_a_model(clew: Run, session: Path) -> None:
    assert clew("race", "3f2a")[::2] == (2, "clew: Refused: no model is named; name them with --model opus,sonnet.\n")
