"""`clew rewind`: files and conversations as they were before a prompt, of any session, and what is said of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import clew
from clew.chat.rewind.rewind_plan import rewind_points
from clew.cli import main
from clew.conversation.load import read
from tests.chat.chat_fixture import SESSION, World
from tests.chat.test_rewind_plan import drive, made, talk, tree

__all__ = ["made"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder in (("XDG_STATE_HOME", "state"), ("XDG_DATA_HOME", "data"), ("CLAUDE_CONFIG_DIR", "claude")):
        monkeypatch.setenv(name, str(tmp_path / folder))


@pytest.fixture
def session(made: World) -> Iterator[World]:
    drive(made, talk, session_id=SESSION, watches_commands=True)
    yield made


@pytest.fixture
def run(session: World, capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*words: str) -> tuple[int, str, str]:
        code = main([words[0], SESSION[:8], *words[1:]])
        return code, *capsys.readouterr()

    return typed


def sessions(session: World) -> list[str]:
    return sorted(path.stem for path in session.path().parent.glob("*.jsonl"))


def test_the_last_turn_is_taken_back_in_the_files_and_in_a_copy(run: Run, session: World) -> None:
    original = session.path().read_bytes()
    code, out, err = run("rewind", "--yes")
    assert code == 0
    assert out.splitlines()[:2] == ["Turn 3: third", "  delete   b/c.txt"]
    assert "Undo this with: clew rewind 5b5d0c1e --undo" in err
    assert sorted(tree(session.project)) == ["a.txt", "old.txt"]
    assert session.path().read_bytes() == original
    [copy] = set(sessions(session)) - {SESSION}
    assert copy in out.splitlines()
    assert [turn.text for turn in clew.find(copy).turns] == ["first", "second"]


def test_files_alone(run: Run, session: World) -> None:
    code, out, _ = run("rewind", "--to", "2", "--code", "--yes")
    assert (code, sessions(session)) == (0, [SESSION])
    assert out.splitlines() == [
        "Turn 2: second",
        "  delete   b/c.txt",
        "  restore  a.txt",
        "  restore  old.txt",
    ]
    assert (session.project / "a.txt").read_text() == "one\n"
    assert run("rewind", "--to", "2", "--code")[1].splitlines()[1] == "  Nothing to restore."


def test_the_conversation_alone(run: Run, session: World) -> None:
    before = tree(session.project)
    assert run("rewind", "--to", "2", "--conversation")[0] == 0
    assert tree(session.project) == before
    [copy] = set(sessions(session)) - {SESSION}
    assert [turn.text for turn in clew.find(copy).turns] == ["first"]


def test_before_the_first_turn_there_is_no_conversation(run: Run, session: World) -> None:
    code, _, err = run("rewind", "--to", "1", "--conversation")
    assert (code, sessions(session)) == (2, [SESSION])
    assert "there is no conversation before turn 1" in err
    assert run("rewind", "--to", "1", "--yes")[0] == 0
    assert list(tree(session.project)) == ["old.txt"]


def test_a_prompt_by_its_uuid(run: Run, session: World) -> None:
    uuid = rewind_points(read(session.path()))[1].uuid
    assert run("rewind", "--to", uuid, "--code", "--dry-run")[1].startswith("Turn 2: second")
    assert run("rewind", "--to", uuid[:8], "--code", "--dry-run")[1].startswith("Turn 2: second")


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_looking_changes_nothing(run: Run, session: World, option: str, tmp_path: Path) -> None:
    before = tree(session.project)
    code, out, _ = run("rewind", "--to", "2", option)
    assert (code, tree(session.project), sessions(session)) == (0, before, [SESSION])
    assert ("-two\n" in out) == (option == "--diff")
    assert "Would make a session" in out
    assert not (tmp_path / "state/clew/rewind").exists()


def test_taken_back_and_done_again(run: Run, session: World) -> None:
    before = tree(session.project)
    run("rewind", "--to", "1", "--code", "--yes")
    assert run("rewind", "--undo")[0] == 0
    assert tree(session.project) == before
    assert run("rewind", "--undo")[0] == 0
    assert list(tree(session.project)) == ["old.txt"]


def test_what_somebody_else_changed_is_shown_and_nothing_is_done(run: Run, session: World) -> None:
    (session.project / "a.txt").write_text("two\nmine\n")
    before = tree(session.project)
    code, out, err = run("rewind", "--to", "2")
    assert (code, tree(session.project), sessions(session)) == (2, before, [SESSION])
    assert "Changed by someone else since: a.txt" in out and "+mine" in out
    assert "--edits keep" in err
    assert run("rewind", "--to", "2", "--code", "--edits", "keep", "--yes")[0] == 0
    assert (session.project / "a.txt").read_text() == "two\nmine\n"
    assert run("rewind", "--to", "2", "--code", "--edits", "overwrite", "--yes")[0] == 0
    assert (session.project / "a.txt").read_text() == "one\n"


def test_json(run: Run, session: World) -> None:
    (session.project / "a.txt").write_text("mine\n")
    code, out, _ = run("rewind", "--to", "2", "--edits", "keep", "--json", "--yes")
    rewind, edit = map(json.loads, out.splitlines())
    assert (code, rewind["clew"], rewind["kind"], rewind["turn"], rewind["done"]) == (0, 1, "rewind", 2, True)
    assert [(row["name"], row["what"], row["done"]) for row in rewind["changes"]] == [
        ("b/c.txt", "delete", True),
        ("a.txt", "restore", False),
        ("old.txt", "restore", True),
    ]
    assert "+mine" in rewind["changes"][1]["edits"]
    assert (edit["kind"], edit["turns"]) == ("edit", {"before": 3, "after": 1})


def test_secrets_and_control_codes_stay_off_the_terminal(run: Run, session: World) -> None:
    key = "sk-ant-api03-" + "A1b2" * 23 + "-AAAAAAAA"
    (session.project / "a.txt").write_text(f"\x1b[31m{key}\n")
    out = run("rewind", "--to", "2", "--dry-run", "--diff")[1]
    assert key not in out and "\x1b" not in out


def test_what_cannot_be_done_is_said(run: Run, session: World, tmp_path: Path) -> None:
    assert run("rewind", "--to", "9")[0] == 1
    assert run("rewind", "--undo")[0] == 1
    for saved in (tmp_path / "claude" / "file-history" / SESSION).iterdir():
        saved.unlink()
    code, out, _ = run("rewind", "--to", "2", "--code", "--dry-run")
    assert code == 0 and "not restored: a.txt, old.txt (its backup is gone)" in out
    session.project.rename(tmp_path / "elsewhere")
    code, _, err = run("rewind", "--to", "2", "--code")
    assert code == 2 and "does not exist" in err


def test_backups_under_another_id_are_found_by_their_time(run: Run, session: World, tmp_path: Path) -> None:
    """2.1.29 puts them there when it resumes to print."""
    history = tmp_path / "claude" / "file-history"
    times = {b.name: b.time for p in states(session) for b in p.backups.values() if b.name}
    (history / SESSION).rename(history / "elsewhere")
    for saved in (history / "elsewhere").iterdir():
        when = clew_time(times[saved.name])
        os.utime(saved, (when, when))
        other = history / "other" / saved.name
        other.parent.mkdir(exist_ok=True)
        other.write_text("of another session")
        os.utime(other, (when - 60, when - 60))
    assert run("rewind", "--to", "2", "--code", "--yes")[0] == 0
    assert (session.project / "a.txt").read_text() == "one\n"


def states(session: World) -> list[clew.FileState]:
    from clew.conversation.file_history import file_states

    return list(file_states(read(session.path()).entries).values())


def clew_time(text: str | None) -> float:
    from clew.wire.timestamps import parse_timestamp

    found = parse_timestamp(text)
    assert found is not None
    return found.timestamp()


def test_as_the_real_program_has_it(session: World, capsys: pytest.CaptureFixture[str]) -> None:
    uuid = rewind_points(read(session.path()))[1].uuid
    assert main(["chat", "--resume", SESSION, "--rewind-files", uuid]) == 0
    assert capsys.readouterr().out == f"Files rewound to state at message {uuid}\n"
    assert (session.project / "a.txt").read_text() == "one\n"
    assert main(["chat", "--rewind-files", uuid]) == 2
    assert main(["chat", "--resume", SESSION, "--rewind-files", uuid, "-p", "x"]) == 2
    assert main(["chat", "--resume", SESSION, "--rewind-files", "00000000-0000-4000-8000-000000000000"]) == 1
