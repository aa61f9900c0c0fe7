"""What a compaction preserves is linked again when the file is read, before a leaf is chosen and a gap is bridged."""

from __future__ import annotations

from tests.oracle.script import NOWHERE, Script, Theme, second, use

case = Theme("preserved")


def begin(s: Script) -> tuple[str, list[str]]:
    """Two turns: the reply of the first, and the lines of the second, which are to be preserved."""
    s.user("u1")
    return s.reply("a1"), [s.user("u2"), s.reply("a2")]


def third(s: Script) -> str:
    s.user("u3")
    return s.reply("a3")


def branch(s: Script, parent: str, at: float = 100_000) -> None:
    """A turn below another line, and later than everything."""
    s.user("u4", parent=parent, timestamp=second(at))
    s.reply("a4", timestamp=second(at + 1))


@case
def branch_below_a_removed_line(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    branch(s, old)


@case
def branch_below_a_line_removed_by_a_segment(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", segment=(kept[0], kept[1]))
    third(s)
    branch(s, old)


@case
def branch_below_a_kept_line(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    branch(s, kept[0])


@case
def branch_where_a_kept_message_is_missing(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=[kept[0], NOWHERE])
    third(s)
    branch(s, old)


@case
def branch_where_the_head_is_missing(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", segment=(NOWHERE, kept[1]))
    third(s)
    branch(s, old)


@case
def branch_where_only_the_segment_is_whole(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=[NOWHERE], segment=(kept[0], kept[1]))
    third(s)
    branch(s, old)


@case
def branch_where_the_anchor_is_missing(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept, anchor=NOWHERE)
    third(s)
    branch(s, old)


@case
def branch_where_nothing_is_named(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    branch(s, old)
    s.edit(4, compactMetadata={"preservedMessages": {"anchorUuid": kept[0], "uuids": []}})


@case
def branch_below_a_boundary_that_a_plain_one_follows(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    last = third(s)
    s.compact("SUM2")
    branch(s, last)


@case
def branch_below_a_broken_boundary_that_a_plain_one_follows(s: Script) -> None:
    begin(s)
    s.compact("SUM", messages=[NOWHERE])
    last = third(s)
    s.compact("SUM2")
    branch(s, last)


@case
def branch_below_a_boundary_that_a_broken_one_follows(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    last = third(s)
    s.compact("SUM2", messages=[NOWHERE])
    branch(s, last)


@case
def branch_below_what_only_the_first_boundary_keeps(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    last = third(s)
    s.compact("SUM2", messages=[last])
    branch(s, kept[1])


@case
def branch_from_nowhere(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    branch(s, NOWHERE)


# What else than a prompt may hang below a removed line


@case
def system_line_below_a_removed_line(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.system("turn_duration", parent=old, timestamp=second(99_000))
    branch(s, s.last or "")


@case
def attachment_below_a_removed_line(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.attach("zzz", "CTX", parent=old, timestamp=second(99_000))
    branch(s, s.last or "")


@case
def note_below_a_removed_line(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.user("note", isMeta=True, parent=old, timestamp=second(99_000))
    branch(s, s.last or "")


@case
def progress_below_a_removed_line(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.progress(parent=old, timestamp=second(99_000))
    branch(s, s.last or "")


@case
def result_of_a_removed_call(s: Script) -> None:
    s.user("u1")
    call = s.reply(use("t1"))
    kept = [s.user("u2"), s.reply("a2")]
    s.compact("SUM", messages=kept)
    s.result("t1", parent=call, timestamp=second(100_000))
    s.reply("a3", timestamp=second(100_001))


# Names, places and leaves


@case
def message_named_twice_in_a_row(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=[kept[0], *kept])
    third(s)


@case
def inner_message_named_twice(s: Script) -> None:
    s.turns(1)
    kept = [s.user("u2"), s.reply("a2"), s.user("u3"), s.reply("a3")]
    s.compact("SUM", messages=[*kept[:3], kept[1], kept[3]])
    third(s)


@case
def pin_on_a_removed_line(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.pin(old)


@case
def explicit_pin_on_a_removed_line(s: Script) -> None:
    old, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.pin(old, explicit=True)


@case
def explicit_pin_on_a_kept_line(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.pin(kept[1], explicit=True)


@case
def summary_is_the_last_line(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)


@case
def boundary_is_the_last_line(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.move(4)


@case
def boundary_before_the_last_line(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.move(4, 6)


@case
def removed_line_comes_again(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    third(s)
    s.line(s.copy(1))


@case
def boundary_of_an_agent(s: Script) -> None:
    _, kept = begin(s)
    s.compact("SUM", messages=kept)
    s.edit(4, isSidechain=True)
    s.edit(5, isSidechain=True)
    branch(s, kept[1])
