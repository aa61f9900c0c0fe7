"""Forks up to a place: every version resumes the copy as the conversation was at that place."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.chat.store.fork_session import fork
from clew.conversation.entry_graph import Dangling
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, read, talk
from clew.edit.plan import plan
from clew.wire.layout import Tree, session_at

FORK = "00000000-0000-4000-8000-00000000f0f0"
VERSIONS = ("2.1.325", "2.1.45", "2.1.29", "2.0.50")


def hooks() -> Talk:
    """Lines of progress between a prompt, its reply and the next prompt, with a minute between any two."""
    told = talk(version="2.1.29").progress("hook_progress").pause(seconds=60).user("one").progress("hook_progress")
    told = told.pause(seconds=60).reply("a", call=bash("ls")).progress("hook_progress").pause(seconds=60).result("x")
    told = told.progress("hook_progress").pause(seconds=60).reply("b").progress("hook_progress").pause(seconds=60)
    return told.user("two").reply("c").user("three").reply("d")


def compactions() -> Talk:
    told = talk(version="2.1.325").user("one").reply("a").last_prompt().user("two").reply("b").last_prompt()
    told = told.compact("Both.", trigger="manual", keep=1).user("three").reply("c").last_prompt()
    return told.compact("All.", keep=2).user("four").reply("d").last_prompt()


def branches() -> Talk:
    told = talk(version="2.1.325").user("one").reply("a", calls=[read("/x"), read("/y")]).result("x").result("y")
    told = told.reply("b").user("two").reply("c").last_prompt().rewind(to=2)
    return told.pause(minutes=3).user("other two").reply("d").user("three").reply("e").last_prompt()


def forked(session: Session, at: str, folder: Path) -> Session:
    assert session.path
    return clew.read(fork(session_at(session.path), FORK, Tree(folder), at, folder / at))


@pytest.mark.parametrize("told", [hooks(), compactions(), branches()], ids=["hooks", "compactions", "branches"])
def test_a_fork_is_resumed_as_a_clone_of_the_same_place(told: Talk, tmp_path: Path) -> None:
    session = clew.read(told.write(tmp_path))
    places = [*map(str, range(1, len(session.turns) + 1)), *(f"b{branch.number}" for branch in session.branches)]
    for at in places:
        made = forked(session, at, tmp_path)
        assert [p for p in made.graph.problems if isinstance(p, Dangling)] == []
        wanted = plan(session).end_with(at).session
        for version in VERSIONS:
            assert request(made, version).messages == request(wanted, version).messages, (at, version)


def test_a_copy_up_to_a_turn_ends_before_the_compaction_that_follows(tmp_path: Path) -> None:
    session = clew.read(compactions().write(tmp_path))
    whole = ["one", "a", "two", "b"]
    for made in (forked(session, "2", tmp_path), plan(session).end_with(2).session):
        messages = request(made).messages
        assert [block["text"].strip() for message in messages for block in message["content"]] == whole
        assert not made.compactions
