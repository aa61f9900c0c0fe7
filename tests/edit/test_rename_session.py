"""Titles and tags: a line behind the file, as Claude Code adds it, that can be taken back."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import clew
from clew.demo.talk import Talk, talk
from clew.edit.plan import plan
from clew.edit.rename_session import retitle, tag
from clew.edit.undo_journal import UndoJournal
from clew.edit.undo_journal import undo as take_back
from clew.errors import Busy, NotFound, Refused
from clew.wire.entry_types import Tag


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def told() -> Talk:
    return talk().user("hi").reply("hello")


def tag_of(path: Path) -> str:
    return next((Tag.of(e).tag for e in reversed(clew.read(path).entries) if e.type == "tag"), "")


def undo(asked: str | None = None) -> tuple[Path, ...]:
    journal = UndoJournal()
    return take_back(journal.find(asked), journal)


def test_a_title_is_the_line_that_the_program_adds(tmp_path: Path) -> None:
    path = told().write(tmp_path)
    before = path.read_bytes()
    retitle(clew.read(path), " The gate ")
    added = path.read_bytes().removeprefix(before)
    assert json.loads(added) == {"type": "custom-title", "customTitle": "The gate", "sessionId": path.stem}
    assert added.endswith(b"\n") and clew.read(path).title == "The gate"


def test_a_torn_last_line_is_ended_first(tmp_path: Path) -> None:
    path = told().raw(b'{"type":"user","mess').write(tmp_path)
    tag(clew.read(path), "garden")
    assert tag_of(path) == "garden" and len(clew.read(path).damage) == 1


def test_names_are_taken_back_one_by_one(tmp_path: Path) -> None:
    path = told().title("First").write(tmp_path)
    retitle(clew.read(path), "Second")
    retitle(clew.read(path), "Third")
    tag(clew.read(path), "garden")
    undo()
    assert (tag_of(path), clew.read(path).title) == ("", "Third")
    undo()
    assert clew.read(path).title == "Second"
    undo(path.stem[:6])
    assert clew.read(path).title == "First"
    with pytest.raises(NotFound, match="the last edit"):
        undo()


@pytest.mark.parametrize("end", [b"", b'{"type":"user","mess', b" \n\n"])
def test_taking_names_back_restores_the_bytes(tmp_path: Path, end: bytes) -> None:
    path = told().title("First").raw(end).write(tmp_path)
    path.write_bytes(path.read_bytes().removesuffix(b"\n") if end.startswith(b"{") else path.read_bytes())
    before = path.read_bytes()
    retitle(clew.read(path), "Second")
    tag(clew.read(path), "garden")
    undo()
    undo()
    assert path.read_bytes() == before


@pytest.mark.parametrize("follows", [b"\n", b"x", b'{"type":"mode","mode":"plan"}\n'])
def test_a_name_that_something_follows_is_taken_back_by_a_line(tmp_path: Path, follows: bytes) -> None:
    path = told().title("First").write(tmp_path)
    retitle(clew.read(path), "Second")
    with path.open("ab") as file:
        file.write(follows)
    before = path.read_bytes()
    undo()
    assert path.read_bytes().startswith(before) and clew.read(path).title == "First"


def test_a_line_that_another_program_wrote_in_the_same_place_stays(tmp_path: Path) -> None:
    path = told().write(tmp_path)
    before = path.read_bytes()
    retitle(clew.read(path), "Mine")
    line = path.read_bytes().removeprefix(before)
    path.write_bytes(before + b'{"type":"mode","mode":"plan"}\n' + line)  # written between the record and the line
    undo()
    assert path.read_bytes().startswith(before + b'{"type":"mode","mode":"plan"}\n' + line)
    assert clew.read(path).title != "Mine"


def test_a_title_that_was_changed_since_is_not_taken_back(tmp_path: Path) -> None:
    path = told().write(tmp_path)
    number = retitle(clew.read(path), "Mine").number
    with path.open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"Yours","sessionId":"x"}\n')
    with pytest.raises(Refused, match="another custom-title since"):
        undo(number)
    assert clew.read(path).title == "Yours"


def test_what_was_noted_and_never_added_is_only_crossed_out(tmp_path: Path) -> None:
    path = told().write(tmp_path)
    before = path.read_bytes()
    line = {"type": "tag", "tag": "x", "sessionId": path.stem}
    UndoJournal().note("tag x", path.stem, path, line, {**line, "tag": ""})
    undo()
    assert path.read_bytes() == before


def test_the_same_name_again_adds_nothing(tmp_path: Path) -> None:
    path = told().title("First").write(tmp_path)
    before = path.read_bytes()
    assert retitle(clew.read(path), "First").number == ""
    assert retitle(clew.read(path), "Other", dry_run=True).former["customTitle"] == "First"
    assert path.read_bytes() == before and UndoJournal().records() == ()


def test_a_title_is_one_line_of_words(tmp_path: Path) -> None:
    path = told().write(tmp_path)
    for title in ("", "  ", "a\nb"):
        with pytest.raises(Refused):
            retitle(clew.read(path), title)


def test_what_an_interrupted_writing_left_is_cleaned_up(tmp_path: Path) -> None:
    path = told().write(tmp_path)
    target = path.with_name("00000000-0000-4000-8000-000000000001.jsonl")
    draft = path.with_name(f".{target.name}.0123456789ab.draft")
    agent = path.parent / target.stem / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    for made in (draft, agent):
        made.write_bytes(b"half")
    UndoJournal().begin("clone", path.stem, target.stem, [agent, target])
    assert set(take_back(UndoJournal().find(None), UndoJournal(), dry_run=True)) == {agent, draft} and draft.exists()
    assert set(undo()) == {agent, draft}
    assert not draft.exists() and not (path.parent / target.stem).exists() and path.exists()


def test_a_writing_that_still_goes_on_is_not_taken_back(tmp_path: Path) -> None:
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        UndoJournal().begin("clone", "a", "b", [tmp_path / "b.jsonl"])
        os.write(said, b".")
        signal.pause()
    try:
        assert os.read(heard, 1) == b"."
        with pytest.raises(Busy):
            undo()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert undo() == ()


def test_a_session_that_was_gone_on_with_is_not_removed(tmp_path: Path) -> None:
    written = plan(clew.read(told().write(tmp_path))).write()
    tag(clew.read(written.path), "x")
    with pytest.raises(Refused, match="was changed since"):
        undo(written.number)
    assert written.path.exists()
