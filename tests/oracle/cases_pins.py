"""Pins: last-prompt lines that name the leaf to resume from."""

from __future__ import annotations

from tests.oracle.cases_leaf import branches
from tests.oracle.script import NOWHERE, OPUS, Script, Theme, use, uuid

case = Theme("pins")
NIL = "00000000-0000-0000-0000-000000000000"


def two_replies(s: Script) -> None:
    root = s.user("u1")
    s.reply("a1")
    s.reply("a1b", parent=root)


@case
def pin_on_the_leaf_then_the_root_again(s: Script) -> None:
    s.turns(2)
    s.pin(s.last)
    s.move(0)


@case
def pin_on_an_agent_line(s: Script) -> None:
    s.turns(1)
    aside = s.user("s1", parent=None, isSidechain=True)
    s.pin(aside)


@case
def explicit_pin_on_no_line(s: Script) -> None:
    root = s.user("u1")
    s.reply("a1")
    s.user("u2", parent=root)
    s.reply("a2")
    s.pin(NOWHERE, explicit=True)


@case
def last_of_two_pins_names_no_line(s: Script) -> None:
    two_replies(s)
    s.pin(uuid(2))
    s.pin(NOWHERE)


@case
def last_of_two_pins_names_nothing(s: Script) -> None:
    two_replies(s)
    s.pin(uuid(2))
    s.pin()


@case
def pin_on_a_result_that_ends_the_turn(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply(use("t1", "StructuredOutput"))
    s.result("t1", "x", toolEndsTurn=True)
    s.pin(s.last)


@case
def pin_on_the_other_branch(s: Script) -> None:
    branches(s)
    s.pin(uuid(4))


@case
def pin_on_the_other_branch_before_this_one_was_written(s: Script) -> None:
    branches(s)
    s.pin(uuid(4))
    s.move(6, 4)


@case
def pin_in_the_middle_of_the_path(s: Script) -> None:
    s.turns(3)
    s.pin(uuid(4))


@case
def explicit_pin_in_the_middle_of_the_path(s: Script) -> None:
    s.turns(3)
    s.pin(uuid(4), explicit=True)


@case
def explicit_pin_with_lines_below_it_later(s: Script) -> None:
    s.turns(2)
    s.pin(uuid(2), explicit=True)
    s.user("u3", parent=uuid(2))
    s.reply("a3")


@case
def explicit_pin_with_lines_elsewhere_later(s: Script) -> None:
    branches(s)
    s.pin(uuid(4), explicit=True)
    s.user("u3", parent=uuid(6))
    s.reply("a3")


@case
def explicit_pin_then_a_plain_one(s: Script) -> None:
    branches(s)
    s.pin(uuid(4), explicit=True)
    s.pin(uuid(6))


@case
def plain_pin_then_an_explicit_one(s: Script) -> None:
    branches(s)
    s.pin(uuid(6))
    s.pin(uuid(4), explicit=True)


@case
def pin_on_nil(s: Script) -> None:
    branches(s)
    s.pin(NIL)


@case
def explicit_pin_on_nil(s: Script) -> None:
    branches(s)
    s.pin(NIL, explicit=True)


@case
def pin_on_another_then_nil(s: Script) -> None:
    branches(s)
    s.pin(uuid(4))
    s.pin(NIL)


@case
def pin_on_an_attachment(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.attach("zzz", "A")
    s.user("u2", parent=fork)
    s.reply("a2")
    s.pin(uuid(3))


@case
def pin_on_a_note_of_the_program(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.system("informational")
    s.user("u2", parent=fork)
    s.reply("a2")
    s.pin(uuid(3))


@case
def pin_on_a_progress_line(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.progress()
    s.user("u2", parent=fork)
    s.reply("a2")
    s.pin(uuid(3))


@case
def pin_on_what_was_compacted(s: Script) -> None:
    s.turns(2)
    s.compact("SUM")
    s.user("u3")
    s.reply("a3")
    s.pin(uuid(4))


@case
def pin_on_a_prompt_of_the_other_branch(s: Script) -> None:
    branches(s)
    s.pin(uuid(3))


@case
def pin_on_one_of_two_parallel_calls(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    s.result("t2", "r2", parent=two)
    s.reply("end")
    s.pin(one)


@case
def explicit_is_a_word(s: Script) -> None:
    s.turns(3)
    s.pin(uuid(4), explicit="yes")


@case
def pin_without_a_session(s: Script) -> None:
    branches(s)
    s.pin(uuid(4), sessionId=None)


@case
def pin_of_another_session(s: Script) -> None:
    branches(s)
    s.pin(uuid(4), sessionId=NOWHERE)


@case
def pin_before_any_line(s: Script) -> None:
    branches(s)
    s.pin(uuid(4))
    s.move(6, 0)


# A compaction behind the pin


@case
def boundary_behind_the_pin(s: Script) -> None:
    s.turns(1)
    s.pin(s.last)
    s.compact("SUM")
    s.user("u2")
    s.reply("a2")


@case
def boundary_behind_an_explicit_pin(s: Script) -> None:
    s.turns(1)
    s.pin(s.last, explicit=True)
    s.compact("SUM")
    s.user("u2")
    s.reply("a2")


@case
def boundary_of_an_agent_behind_the_pin(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("bA")
    s.pin(s.reply("aA"))
    s.system("compact_boundary", parent=None, isSidechain=True)
    s.user("u2", parent=fork)
    s.reply("a2")


@case
def pin_on_what_was_preserved(s: Script) -> None:
    kept = s.user("u1"), s.reply("a1")
    s.compact("SUM", messages=kept)
    s.pin(kept[1])
    s.user("u2")
    s.reply("a2")
