"""Bridging: what stands in for a parent that is not there."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.script import NOWHERE, Script, Theme, second, use, uuid

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


# By time: `at` is the second of a line


def talked(s: Script, gap: float) -> None:
    """A prompt whose parent is missing, so many seconds after the reply before it."""
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(1))
    s.user("u2", timestamp=second(1 + gap), parent=NOWHERE)
    s.reply("a2", timestamp=second(2 + gap))


for seconds in (0, 4.999, 5, 5.001, 28, 86_400):
    case.put(f"gap_of_{seconds}_seconds", lambda s, gap=seconds: talked(s, gap))  # type: ignore[misc]


def timed(s: Script, *lines: tuple[str, float, str | None]) -> None:
    """Lines with a text, a second and a parent: prompts but for those that begin with an a."""
    for said, at, parent in lines:
        (s.reply if said.startswith("a") else s.user)(said, timestamp=second(at), parent=parent)


TIMED: dict[str, tuple[tuple[str, float, str | None], ...]] = {
    "line_before_is_later": (
        ("u1", 0, None),
        ("a1", 1, uuid(1)),
        ("ax", 6, uuid(2)),
        ("u2", 5.5, NOWHERE),
        ("a2", 7, uuid(4)),
    ),
    "only_a_later_line_is_near": (
        ("u1", 0, None),
        ("a1", 1, uuid(1)),
        ("x", 10.5, uuid(2)),
        ("u2", 10, NOWHERE),
        ("a2", 11, uuid(4)),
    ),
    "older_line_is_nearer_than_the_line_before": (
        ("u1", 80, None),
        ("a1", 81, uuid(1)),
        ("b", 0, uuid(1)),
        ("u2", 82, NOWHERE),
        ("a2", 83, uuid(4)),
    ),
    "nearest_line_is_later_in_the_file": (
        ("u1", 0, None),
        ("a1", 1, uuid(1)),
        ("u2", 4, NOWHERE),
        ("a2", 5, uuid(3)),
        ("late", 3, uuid(2)),
        ("u3", 6, uuid(4)),
        ("a3", 7, uuid(6)),
    ),
    "two_lines_are_as_near": (
        ("u1", 0, None),
        ("a1", 1, uuid(1)),
        ("c1", 3, uuid(2)),
        ("c2", 3, uuid(2)),
        ("u2", 4, NOWHERE),
        ("a2", 5, uuid(5)),
    ),
    "nearest_line_hangs_below_on_the_path": (
        ("u1", 0, None),
        ("a1", 18, uuid(1)),
        ("u2", 20, NOWHERE),
        ("a2", 19, uuid(3)),
        ("u3", 30, uuid(4)),
        ("a3", 31, uuid(5)),
    ),
    "nearest_line_hangs_below_beside_the_path": (
        ("u1", 0, None),
        ("a1", 18, uuid(1)),
        ("u2", 20, NOWHERE),
        ("aoff", 19, uuid(3)),
        ("a2", 21, uuid(3)),
        ("u3", 30, uuid(5)),
    ),
    "two_at_one_time_without_parents": (
        ("u1", 0, None),
        ("a1", 1, uuid(1)),
        ("oA", 20, NOWHERE),
        ("oB", 20, NOWHERE),
        ("a3", 31, uuid(3)),
    ),
    "reply_whose_prompt_is_lost": (
        ("u1", 0, None),
        ("a1", 1, uuid(1)),
        ("a2", 30, NOWHERE),
        ("u3", 50, uuid(3)),
        ("a3", 52, uuid(4)),
    ),
    "cycle_within_five_seconds": (("u1", 0, None), ("a1", 1, uuid(1)), ("u2", 2, uuid(4)), ("a2", 3, uuid(3))),
    "cycle_far_from_the_rest": (("u1", 0, None), ("a1", 1, uuid(1)), ("u2", 12, uuid(4)), ("a2", 13, uuid(3))),
    "own_parent_far_from_the_rest": (("u1", 0, None), ("a1", 1, uuid(1)), ("u2", 12, uuid(3)), ("a2", 13, uuid(3))),
}
for named, rows in TIMED.items():
    case.put(named, lambda s, lines=rows: timed(s, *lines))  # type: ignore[misc]


@case
def bridge_without_a_time(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(1))
    s.user("u2", timestamp="", parent=NOWHERE)
    s.reply("a2", timestamp=second(2))


# The forms of a date in which the time of a bridge is written: JavaScript reads the first ten
DATES = {
    "of_a_mail": "Sat, 03 Jan 2026 10:00:02 GMT",
    "of_a_mail_with_an_offset": "Sat, 03 Jan 2026 12:00:02 +0200",
    "with_an_offset": "2026-01-03T12:00:02+02:00",
    "with_a_short_offset": "2026-01-03T04:30:02.000-0530",
    "without_milliseconds": "2026-01-03T10:00:02Z",
    "with_microseconds": "2026-01-03T10:00:02.123456Z",
    "with_a_space": "2026-01-03 10:00:02Z",
    "of_a_script": "Sat Jan 03 2026 10:00:02 GMT+0000 (Coordinated Universal Time)",
    "of_a_person": "Jan 3, 2026 10:00:02 AM",
    "in_a_number": 1767434402000,
    "with_a_short_offset_of_hours": "2026-01-03T12:00:02+02",
    "without_dashes": "20260103T100002Z",
    "in_digits": "1767434402000",
}


def dated(s: Script, date: str | int, before: bool) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=date if before else second(1))
    s.user("u2", timestamp=second(3) if before else date, parent=NOWHERE)
    s.reply("a2", timestamp=second(4))


for name, date in DATES.items():
    case.put(f"bridge_with_a_date_{name}", lambda s, date=date: dated(s, date, before=False))  # type: ignore[misc]
    case.put(f"bridge_to_a_date_{name}", lambda s, date=date: dated(s, date, before=True))  # type: ignore[misc]


@case
def line_before_without_a_time(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp="some day")
    s.user("u2", timestamp=second(1), parent=NOWHERE)
    s.reply("a2", timestamp=second(2))


@case
def only_an_agent_line_is_near(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(1))
    s.user("s1", timestamp=second(20), parent=None, isSidechain=True)
    s.user("u2", timestamp=second(21), parent=NOWHERE)
    s.reply("a2", timestamp=second(22))


@case
def agent_line_for_an_agent_line(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(1))
    s.user("s0", timestamp=second(1.5), isSidechain=True)
    s.user("s1", timestamp=second(2), parent=NOWHERE, isSidechain=True)
    s.user("u2", timestamp=second(3))
    s.reply("a2", timestamp=second(4))


def near(s: Script, put: Callable[[str], object]) -> None:
    """A line of some kind, twenty seconds after the talk, and an orphan one second after that."""
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(1))
    put(second(20))
    s.user("u2", timestamp=second(21), parent=NOWHERE)
    s.reply("a2", timestamp=second(22))


@case
def only_an_attachment_is_near(s: Script) -> None:
    near(s, lambda at: s.attach("date", timestamp=at))


@case
def only_a_system_line_is_near(s: Script) -> None:
    near(s, lambda at: s.system("turn_duration", timestamp=at))


@case
def only_a_progress_line_is_near(s: Script) -> None:
    near(s, lambda at: s.progress(timestamp=at))


@case
def only_an_unknown_type_is_near(s: Script) -> None:
    near(s, lambda at: s.add("x-ours", timestamp=at, foo=1))


@case
def only_a_line_without_a_message_is_near(s: Script) -> None:
    near(s, lambda at: s.add("user", {"message": None}, timestamp=at))


@case
def only_a_reply_without_content_is_near(s: Script) -> None:
    near(s, lambda at: s.add("assistant", {"message": {"id": "m", "role": "assistant"}}, timestamp=at))


@case
def unknown_type_in_the_chain_and_a_long_gap(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(1))
    s.add("x-ours", timestamp=second(2), foo=1)
    s.user("u2", timestamp=second(21))
    s.reply("a2", timestamp=second(22))


@case
def progress_line_with_a_missing_parent_and_a_long_gap(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(19))
    s.progress(timestamp=second(20), parent=NOWHERE)
    s.user("u2", timestamp=second(25))
    s.reply("a2", timestamp=second(26))


@case
def summary_of_a_lost_boundary(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(8))
    s.user("SUM", isCompactSummary=True, timestamp=second(20), parent=NOWHERE)
    s.user("u2", timestamp=second(30))
    s.reply("a2", timestamp=second(32))


@case
def nearest_line_is_before_a_boundary(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(28))
    s.compact("SUM")
    s.user("u2", timestamp=second(30), parent=NOWHERE)
    s.reply("a2", timestamp=second(32))


@case
def nearest_line_was_preserved(s: Script) -> None:
    s.turns(1)
    kept = s.user("k1", timestamp=second(30)), s.reply("k2", timestamp=second(41))
    s.compact("SUM", messages=kept)
    s.user("u2", timestamp=second(43), parent=NOWHERE)
    s.reply("a2", timestamp=second(51))


@case
def result_whose_call_is_out_of_reach(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply(use("t1"), timestamp=second(1))
    s.result("t1", timestamp=second(30), parent=NOWHERE)
    s.reply("a1", timestamp=second(31))


@case
def reply_cut_in_two(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("x", mid="m", timestamp=second(1))
    s.reply("y", mid="m", timestamp=second(22), parent=NOWHERE)
    s.reply("z", mid="m", timestamp=second(23))
    s.user("u2", timestamp=second(50))
    s.reply("a2", timestamp=second(51))


def pinned(s: Script, gap: float, **pin: bool) -> None:
    s.user("u1", timestamp=second(0))
    s.pin(s.reply("a1", timestamp=second(1)), **pin)
    s.user("u2", timestamp=second(1 + gap), parent=NOWHERE)
    s.reply("a2", timestamp=second(2 + gap))


@case
def pin_before_a_gap_of_two_seconds(s: Script) -> None:
    pinned(s, 2)


@case
def pin_before_a_long_gap(s: Script) -> None:
    pinned(s, 20)


@case
def explicit_pin_before_a_gap_of_two_seconds(s: Script) -> None:
    pinned(s, 2, explicit=True)


@case
def pin_behind_a_gap(s: Script) -> None:
    s.user("u1", timestamp=second(0))
    s.reply("a1", timestamp=second(1))
    s.user("u2", timestamp=second(3), parent=NOWHERE)
    s.pin(s.reply("a2", timestamp=second(4)))
    s.user("u3", timestamp=second(20))
    s.reply("a3", timestamp=second(21))
