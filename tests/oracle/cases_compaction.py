"""Compaction: where the conversation begins anew, and what was preserved from before."""

from __future__ import annotations

from tests.oracle.script import NOWHERE, OPUS, Script, Theme, answer, image, use

case = Theme("compaction")


def two_turns(s: Script) -> list[str]:
    return [s.user("u1"), s.reply("a1"), s.user("u2"), s.reply("a2")]


def go_on(s: Script, turn: int = 3) -> None:
    s.user(f"u{turn}")
    s.reply(f"a{turn}")


@case
def plain(s: Script) -> None:
    two_turns(s)
    s.compact("SUM")
    go_on(s)


@case
def segment_behind_the_summary(s: Script) -> None:
    _, _, head, tail = two_turns(s)
    s.compact("SUM", segment=(head, tail))
    go_on(s)


@case
def segment_behind_the_boundary(s: Script) -> None:
    _, _, head, tail = two_turns(s)
    s.compact("SUM", segment=(head, tail), anchor=s.ahead())
    go_on(s)


@case
def segment_behind_no_line(s: Script) -> None:
    _, _, head, tail = two_turns(s)
    s.compact("SUM", segment=(head, tail), anchor=NOWHERE)
    go_on(s)


@case
def segment_without_its_head(s: Script) -> None:
    *_, tail = two_turns(s)
    s.compact("SUM", segment=(NOWHERE, tail))
    go_on(s)


@case
def segment_without_its_tail(s: Script) -> None:
    _, _, head, _ = two_turns(s)
    s.compact("SUM", segment=(head, NOWHERE))
    go_on(s)


@case
def segment_upside_down(s: Script) -> None:
    _, _, head, tail = two_turns(s)
    s.compact("SUM", segment=(tail, head))
    go_on(s)


@case
def segment_behind_a_later_line(s: Script) -> None:
    _, _, head, tail = two_turns(s)
    s.compact("SUM", segment=(head, tail), anchor=s.ahead(3))
    go_on(s)


@case
def segment_of_the_first_of_two_boundaries(s: Script) -> None:
    _, _, head, tail = two_turns(s)
    s.compact("SUM", segment=(head, tail))
    go_on(s)
    s.compact("SUM2")
    go_on(s, 4)


@case
def segment_that_begins_with_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    head = s.result("t1")
    tail = s.reply("a2")
    s.compact("SUM", segment=(head, tail))
    go_on(s)


@case
def segment_with_parallel_calls(s: Script) -> None:
    head = s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    s.result("t2", "r2", parent=two)
    tail = s.reply("a2")
    s.compact("SUM", segment=(head, tail))
    go_on(s)


@case
def segment_over_a_missing_line(s: Script) -> None:
    head = s.user("u1")
    s.reply("a1")
    s.user("u2", parent=NOWHERE)
    tail = s.reply("a2")
    s.compact("SUM", segment=(head, tail))
    go_on(s)


@case
def segment_over_a_progress_line(s: Script) -> None:
    head = s.user("u1")
    s.reply("a1")
    s.progress()
    s.user("u2")
    tail = s.reply("a2")
    s.compact("SUM", segment=(head, tail))
    go_on(s)


@case
def messages_in_another_order(s: Script) -> None:
    _, first, _, second = two_turns(s)
    s.compact("SUM", messages=[second, first])
    go_on(s)


@case
def messages_of_which_some_are_not_there(s: Script) -> None:
    *_, third, fourth = two_turns(s)
    s.compact("SUM", messages=[third, NOWHERE, fourth])
    go_on(s)


@case
def messages_that_are_not_there(s: Script) -> None:
    two_turns(s)
    s.compact("SUM", messages=[NOWHERE])
    go_on(s)


@case
def messages_behind_no_line(s: Script) -> None:
    *_, third, fourth = two_turns(s)
    s.compact("SUM", messages=[third, fourth], anchor=NOWHERE)
    go_on(s)


@case
def messages_behind_the_boundary(s: Script) -> None:
    *_, third, fourth = two_turns(s)
    s.compact("SUM", messages=[third, fourth], anchor=s.ahead())
    go_on(s)


@case
def message_named_twice(s: Script) -> None:
    *_, third, fourth = two_turns(s)
    s.compact("SUM", messages=[third, fourth, third])
    go_on(s)


@case
def messages_and_a_segment(s: Script) -> None:
    first, second, third, fourth = two_turns(s)
    s.compact("SUM", messages=[third, fourth], segment=(first, second))
    go_on(s)


@case
def messages_with_half_of_the_parallel_calls(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    answered = s.result("t2", "r2", parent=two)
    last = s.reply("a2")
    s.compact("SUM", messages=[two, answered, last])
    go_on(s)


@case
def messages_from_behind_the_boundary(s: Script) -> None:
    two_turns(s)
    s.compact("SUM", messages=[s.ahead(3), s.ahead(4)])
    go_on(s)
    go_on(s, 4)


@case
def two_boundaries(s: Script) -> None:
    two_turns(s)
    s.compact("SUM")
    go_on(s)
    s.compact("SUM2")
    go_on(s, 4)


@case
def two_boundaries_that_preserve_messages(s: Script) -> None:
    *_, third, fourth = two_turns(s)
    s.compact("SUM", messages=[third, fourth])
    fifth, sixth = s.user("u3"), s.reply("a3")
    s.compact("SUM2", messages=[fifth, sixth])
    go_on(s, 4)


@case
def two_boundaries_that_preserve_the_same_messages(s: Script) -> None:
    *_, third, fourth = two_turns(s)
    s.compact("SUM", messages=[third, fourth])
    fifth, sixth = s.user("u3"), s.reply("a3")
    s.compact("SUM2", messages=[third, fourth, fifth, sixth])
    go_on(s, 4)


@case
def two_boundaries_that_preserve_segments(s: Script) -> None:
    _, _, head, tail = two_turns(s)
    s.compact("SUM", segment=(head, tail))
    head, tail = s.user("u3"), s.reply("a3")
    s.compact("SUM2", segment=(head, tail))
    go_on(s, 4)


@case
def second_segment_reaches_over_the_first_boundary(s: Script) -> None:
    _, _, head, tail = two_turns(s)
    s.compact("SUM", segment=(head, tail))
    s.user("u3")
    last = s.reply("a3")
    s.compact("SUM2", segment=(head, last))
    go_on(s, 4)


@case
def two_boundaries_in_a_row(s: Script) -> None:
    *_, third, fourth = two_turns(s)
    s.compact("SUM", messages=[third, fourth])
    s.compact("SUM2")
    go_on(s)


@case
def prompt_below_what_was_compacted(s: Script) -> None:
    s.user("u1")
    old = s.reply("a1")
    s.compact("SUM")
    s.user("u2", parent=old)
    s.reply("a2")


@case
def boundary_in_the_chain(s: Script) -> None:
    two_turns(s)
    above = s.last
    s.compact("SUM")
    s.edit(4, parentUuid=above)
    go_on(s)


@case
def boundary_without_its_summary(s: Script) -> None:
    two_turns(s)
    boundary = s.compact("SUM")
    s.lines.pop()
    s.user("u3", parent=boundary)
    s.reply("a3")


@case
def summary_without_its_boundary(s: Script) -> None:
    two_turns(s)
    s.user("SUM", isCompactSummary=True)
    go_on(s)


@case
def boundary_without_its_facts(s: Script) -> None:
    two_turns(s)
    s.compact("SUM")
    s.edit(4, compactMetadata=None)
    go_on(s)


@case
def boundary_of_a_micro_compaction(s: Script) -> None:
    s.turns(1)
    s.system("microcompact_boundary", "m")
    s.user("u2")
    s.reply("a2")


@case
def prompts_behind_a_summary_in_transcripts_only(s: Script) -> None:
    two_turns(s)
    s.compact("SUM")
    s.edit(5, isVisibleInTranscriptOnly=True)
    go_on(s)


@case
def boundary_as_the_first_line(s: Script) -> None:
    s.compact("SUM")
    go_on(s)


@case
def messages_with_an_image_before_the_summary(s: Script) -> None:
    first = s.user([image()])
    second = s.reply("a1")
    s.compact("SUM", messages=[first, second])
    go_on(s)


@case
def lost_result_in_what_was_preserved(s: Script) -> None:
    s.user("u1")
    asked = s.reply("x", use("t1"))
    s.user([answer("t1")])
    s.compact("SUM", messages=[asked])
    go_on(s)


# A preserved call and its result, with context behind the summary


def preserved_call(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    head = s.reply(use("t1"))
    tail = s.result("t1")
    s.compact("SUM", segment=(head, tail))
    s.attach("zzz", "CTX")


@case
def context_behind_a_preserved_result(s: Script) -> None:
    preserved_call(s)
    s.reply("a3")


@case
def context_and_prompt_behind_a_preserved_result(s: Script) -> None:
    preserved_call(s)
    s.user("u2")
    s.reply("a3")


@case
def contexts_behind_a_preserved_result_and_later(s: Script) -> None:
    preserved_call(s)
    s.attach("zzz", "CTX2")
    s.reply("a3")
    s.attach("zzz", "CTX3")
    s.user("u5")
    s.reply("a5")
