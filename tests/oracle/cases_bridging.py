"""Bridging: what stands in for a parent that is not there."""

from __future__ import annotations

from tests.oracle.script import NOWHERE, Script, Theme, use, uuid

case = Theme("bridging")


@case
def missing_parent_behind_agent_lines(s: Script) -> None:
    s.turns(1)
    s.user("s1", parent=None, isSidechain=True)
    s.reply("s2", isSidechain=True)
    s.user("u2", parent=NOWHERE)
    s.reply("a2")


@case
def missing_parent_behind_a_progress_line(s: Script) -> None:
    s.turns(1)
    s.progress()
    s.user("u2", parent=NOWHERE)
    s.reply("a2")


@case
def parent_of_an_unknown_type(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("u2")
    s.reply("a2")
    s.add("x-ours", parent=fork, foo=1)
    s.user("u3")
    s.reply("a3")


@case
def parent_is_a_progress_line(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("u2")
    s.reply("a2")
    s.progress(parent=fork)
    s.user("u3")
    s.reply("a3")


@case
def three_progress_lines_in_a_row(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("u2")
    s.reply("a2")
    s.progress(parent=fork)
    s.progress()
    s.progress()
    s.user("u3")
    s.reply("a3")


@case
def progress_line_with_a_missing_parent(s: Script) -> None:
    s.turns(2)
    s.progress(parent=NOWHERE)
    s.user("u3")
    s.reply("a3")


@case
def progress_line_without_a_parent(s: Script) -> None:
    s.turns(2)
    s.progress(parent=None)
    s.user("u3")
    s.reply("a3")


@case
def progress_line_below_itself(s: Script) -> None:
    s.turns(2)
    s.progress(parent=s.ahead())
    s.user("u3")
    s.reply("a3")


@case
def progress_line_later_in_the_file(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("u2")
    s.reply("a2")
    s.progress(parent=fork)
    s.user("u3")
    s.reply("a3")
    s.move(4)


@case
def progress_line_at_the_end(s: Script) -> None:
    s.turns(2)
    s.progress()


@case
def progress_line_of_an_agent(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("u2")
    s.reply("a2")
    s.progress(parent=fork, isSidechain=True)
    s.user("u3")
    s.reply("a3")


@case
def first_line_with_a_missing_parent(s: Script) -> None:
    s.user("u1", parent=NOWHERE)
    s.reply("a1")


@case
def two_missing_parents(s: Script) -> None:
    s.turns(1)
    s.user("u2", parent=NOWHERE)
    s.reply("a2")
    s.user("u3", parent="eeeeeeee-0000-4000-8000-000000000000")
    s.reply("a3")


@case
def missing_parent_in_the_middle_of_a_left_branch(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("bA", parent=NOWHERE)
    s.reply("aA")
    s.user("bB", parent=fork)
    s.reply("aB")


@case
def missing_parent_behind_a_left_branch(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("bA", parent=fork)
    s.reply("aA")
    s.user("bB", parent=NOWHERE)
    s.reply("aB")


@case
def missing_parent_behind_an_unknown_type(s: Script) -> None:
    s.turns(1)
    s.add("x-ours", foo=1)
    s.user("u2", parent=NOWHERE)
    s.reply("a2")


@case
def missing_parent_behind_a_boundary(s: Script) -> None:
    s.turns(1)
    s.compact("SUM")
    s.user("u2", parent=NOWHERE)
    s.reply("a2")


@case
def missing_parent_of_the_summary(s: Script) -> None:
    s.turns(1)
    s.compact("SUM")
    s.edit(3, parentUuid=NOWHERE)
    s.user("u2")
    s.reply("a2")


@case
def missing_parent_of_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", parent=NOWHERE)
    s.reply("a1")


@case
def missing_parent_of_a_call(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply(use("t1"), parent=NOWHERE)
    s.result("t1")
    s.reply("a2")


@case
def missing_parent_of_an_agent_line_in_the_chain(s: Script) -> None:
    s.turns(1)
    s.user("s1", parent=NOWHERE, isSidechain=True)
    s.user("u2")
    s.reply("a2")


@case
def missing_parent_behind_an_agent_line_alone(s: Script) -> None:
    s.user("s1", parent=None, isSidechain=True)
    s.user("u1", parent=NOWHERE)
    s.reply("a1")


@case
def parent_on_a_line_that_cannot_be_read(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply("a2")
    s.user("u3")
    s.reply("a3")
    s.lines[3] = b'{"type":"assistant","uuid":"' + uuid(4).encode() + b'","mess\n'


@case
def parent_without_a_message(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply("a2")
    s.user("u3")
    s.reply("a3")
    s.edit(3, message=None)


@case
def parent_is_a_number(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.edit(2, parentUuid=7)
    s.reply("a2")


@case
def parent_is_an_empty_word(s: Script) -> None:
    s.turns(1)
    s.user("u2", parent="")
    s.reply("a2")


@case
def parent_field_is_not_there(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    entry = s.copy(2)
    del entry["parentUuid"]
    s.lines[2] = entry
    s.reply("a2")


@case
def missing_parent_of_a_line_that_comes_twice(s: Script) -> None:
    s.turns(1)
    s.user("u2", parent=NOWHERE)
    s.reply("a2")
    s.line(s.copy(2))
    s.user("u3")
    s.reply("a3")
