"""What a session was made of, and what was made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.conversation.session import Session
from clew.demo.talk import talk
from clew.edit.plan import plan
from clew.edit.session_lineage import Lineage, find_lineage
from clew.edit.undo_journal import UndoJournal, undo
from clew.wire.layout import SessionFile, Tree


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "claude"


def files(root: Path) -> list[SessionFile]:
    return [file for project in Tree(root).projects() for file in project.sessions()]


def kin(root: Path, session: Session) -> Lineage:
    return find_lineage(session, files(root), UndoJournal().records())


def edges(found: Lineage) -> set[tuple[str, str, str]]:
    return {(link.parent[:4], link.child[:4], link.detail) for link in found.links}


def test_edits_of_edits_are_one_tree_from_wherever_it_is_asked(root: Path) -> None:
    source = clew.read(talk().user("one").reply("a").user("two").reply("b").write(root))
    first = clew.read(plan(source).drop_turn(1).write().path)
    second = clew.read(plan(first).write().path)
    other = clew.read(plan(source).write().path)
    expected = {
        (source.id[:4], first.id[:4], "drop turn 1"),
        (first.id[:4], second.id[:4], "clone"),
        (source.id[:4], other.id[:4], "clone"),
    }
    for asked in (source, first, second, other):
        found = kin(root, asked)
        assert edges(found) == expected and found.roots == (source.id,) and found.shared == ()


def test_the_files_tell_without_the_journal_and_the_journal_without_the_files(root: Path) -> None:
    source = clew.read(talk().user("one").reply("a").write(root))
    written = plan(source).write()
    assert edges(find_lineage(source, files(root))) == edges(find_lineage(source, [], UndoJournal().records()))
    undo(UndoJournal().find(None), UndoJournal())
    assert not written.path.exists() and kin(root, source).links == ()


def test_a_branch_of_the_program_names_its_origin(root: Path) -> None:
    told = talk().user("one").reply("a")
    source = clew.read(told.write(root))
    origin = {"sessionId": source.id, "messageUuid": "x"}
    branch = talk(seed=1).user("one", forkedFrom=origin).reply("b", forkedFrom=origin)
    made = clew.read(branch.write(root))
    assert edges(kin(root, made)) == {(source.id[:4], made.id[:4], "/branch")} == edges(kin(root, source))
    copy = clew.read(plan(made).write().path)
    assert edges(kin(root, copy)) == {
        (source.id[:4], made.id[:4], "/branch"),
        (made.id[:4], copy.id[:4], "clone"),
    }


def test_an_unmarked_fork_is_known_by_its_uuids(root: Path) -> None:
    told = talk().user("one").reply("a")
    source, fork = (clew.read(t.write(root)) for t in (told, told.fork().user("two").reply("b")))
    talk(seed=2).user("other").reply("x").write(root)
    found = kin(root, source)
    assert [(s.id, s.common, s.own) for s in found.shared] == [(fork.id, 2, 2)]
    assert [(s.id, s.common, s.own) for s in kin(root, fork).shared] == [(source.id, 2, 0)]


def test_a_merge_is_made_of_both(root: Path) -> None:
    told = talk().user("one").reply("a")
    source, fork = (clew.read(t.write(root)) for t in (told.user("l"), told.fork().pause(hours=1).user("r").reply("b")))
    made = clew.read(plan(source).merge(fork).write().path)
    found = kin(root, made)
    assert {link.parent for link in found.links} == {source.id, fork.id}
    assert set(found.roots) == {source.id, fork.id}
