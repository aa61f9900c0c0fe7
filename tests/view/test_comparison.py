"""Two ways of a conversation: where they part, and the files that each left."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.conversation.load import read
from clew.conversation.session import Session
from clew.demo.talk import Talk, edit, talk, task, write
from clew.errors import NotFound
from clew.facts.file_changes import ABSENT, UNKNOWN, FileContent
from clew.view.comparison import Comparison, FileDifference, conversation_path

PATH = "/home/ada/a.py"


def begun() -> Talk:
    told = talk().user("begin").reply(call=write(PATH, "one\n")).result().reply("done")
    return told.user("first way").reply(call=edit(PATH, "one", "1")).result().reply("so")


def forked() -> Session:
    told = begun().rewind(to=2).user("second way").reply(call=write(PATH, "I\n")).result().reply("or so")
    return Session(told.bytes())


def test_branches_part_behind_what_they_share() -> None:
    session = forked()
    made = Comparison(conversation_path(session, "b1"), conversation_path(session, "b2"))
    assert made.shared == 1
    assert made.differences == (FileDifference(PATH, FileContent(True, "1\n"), FileContent(True, "I\n")),)
    assert made.differences[0].lines("a", "b") == ["--- a", "+++ b", "@@ -1 +1 @@", "-1", "+I"]


def test_a_file_that_one_way_left_alone_is_as_it_was_where_they_part() -> None:
    session = forked()
    made = Comparison(conversation_path(session, "1"), conversation_path(session))
    assert made.shared == 1
    assert made.differences == (FileDifference(PATH, FileContent(True, "one\n"), FileContent(True, "I\n")),)


def test_a_copy_shares_its_turns_with_the_session() -> None:
    told = begun()
    copy = told.fork().user("more").reply(call=write("/home/ada/b.py", "b\n")).result().reply("there")
    made = Comparison(conversation_path(Session(told.bytes())), conversation_path(Session(copy.bytes())))
    assert made.shared == 2
    assert made.differences == (FileDifference("/home/ada/b.py", ABSENT, FileContent(True, "b\n")),)


def test_what_ended_alike_does_not_differ() -> None:
    session = Session(begun().bytes())
    assert Comparison(conversation_path(session), conversation_path(session)).differences == ()
    assert Comparison(conversation_path(session), conversation_path(session)).shared == 2


def test_what_no_record_tells_is_told_as_such() -> None:
    told = talk().user("go").reply("yes")
    other = (
        told.fork().user("on").reply(call=edit(PATH, "a", "b")).result("ok", detail={"note": "changed"}).reply("done")
    )
    made = Comparison(conversation_path(Session(told.bytes())), conversation_path(Session(other.bytes())))
    assert made.differences == (FileDifference(PATH, UNKNOWN, UNKNOWN),)
    assert made.differences[0].lines("a", "b") == []


def test_the_work_of_agents_counts(tmp_path: Path) -> None:
    child = talk(seed=2).user("do it").reply(call=write(PATH, "by an agent\n")).result().reply("done")
    path = talk().user("send one").reply(call=task("Do it", "do it")).agent(0, child).reply("ok").write(tmp_path)
    assert conversation_path(read(path)).changes()[PATH].after == FileContent(True, "by an agent\n")


def test_places_have_names() -> None:
    session = forked()
    entry = session.turns[0].entries[-1]
    assert [len(conversation_path(session, place).turns) for place in ("", "1", "-1", "-2", "b1", str(entry.uuid))] == [
        2,
        1,
        2,
        1,
        2,
        1,
    ]
    for place in ("0", "3", "b3", "zzz"):
        with pytest.raises(NotFound, match="place in the session"):
            conversation_path(session, place)
