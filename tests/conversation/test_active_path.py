"""The active path: where a resume goes on, by the rule of each era, and what it takes with it."""

from __future__ import annotations

import pytest

import clew
from clew.conversation.active_path import NIL
from clew.conversation.cli_version import NEWEST, Era, version_key
from clew.conversation.session import Session
from clew.demo.talk import bash, talk
from tests.conversation.lines import Json, opened, pin, reply, result, session, text, texts, use, user, uuids

OLD, NEW = "2.1.45", "2.1.325"


def rewound(*more: Json) -> list[Json]:
    """Two branches below A: B and C were said first, D and E instead of them."""
    return [
        user("A", None, "one"),
        reply("A1", "A", text("1")),
        user("B", "A1", "two"),
        reply("C", "B", text("2")),
        user("D", "A1", "other two"),
        reply("E", "D", text("3")),
        *more,
    ]


def leaf(found: Session, version: str = NEW) -> str | None:
    """Where a version goes on; the session itself must say the same of the newest one."""
    asked = clew.request(found, version)
    assert asked.leaf is not None, asked.refusal
    if version == NEW:
        assert found.leaf == asked.leaf
    return asked.leaf.uuid


# -- the newest rule


def test_without_a_pin_the_last_line_of_the_file_is_resumed() -> None:
    assert leaf(session(*rewound())) == "E"
    assert [turn.text for turn in session(*rewound()).turns] == ["one", "other two"]


def test_a_pin_names_another_branch() -> None:
    assert leaf(session(*rewound(pin("C")))) == "C"


def test_the_last_pin_counts() -> None:
    assert leaf(session(*rewound(pin("C"), pin("E")))) == "E"
    assert leaf(session(*rewound(pin("E"), pin("C")))) == "C"


def test_a_pin_on_an_ancestor_of_the_last_line_is_passed_by() -> None:
    assert leaf(session(*rewound(pin("D")))) == "E"
    assert leaf(session(*rewound(pin("A")))) == "E"


def test_a_pin_does_not_descend_to_what_was_said_below_it() -> None:
    assert leaf(session(*rewound(pin("B")))) == "B"


@pytest.mark.parametrize("lost", ["not-in-the-file", NIL])
def test_a_pin_on_nothing_is_ignored(lost: str) -> None:
    assert leaf(session(*rewound(pin(lost)))) == "E"


def test_the_nil_pin_of_a_rewind_voids_the_older_pins() -> None:
    assert leaf(session(*rewound(pin("C"), pin(NIL, explicit=True)))) == "E"


def test_a_pin_without_a_leaf_voids_nothing() -> None:
    assert leaf(session(*rewound(pin("C"), pin(None, "two")))) == "C"


def test_an_explicit_pin_is_taken_at_its_word() -> None:
    assert leaf(session(*rewound(pin("A1", explicit=True)))) == "A1"


def test_lines_behind_an_explicit_pin_that_hang_below_it_are_followed() -> None:
    said = rewound(pin("A1", explicit=True), user("F", "A1", "a third two"), reply("G", "F", text("4")))
    assert leaf(session(*said)) == "G"
    assert leaf(session(*said, user("H", None, "elsewhere"))) == "G"


def test_a_pin_before_everything_still_counts() -> None:
    assert leaf(session(pin("C"), *rewound())) == "C"


def test_a_late_system_line_moves_the_leaf_and_progress_does_not() -> None:
    late = {"uuid": "Z", "parentUuid": "C"}
    assert leaf(session(*rewound({"type": "system", "subtype": "turn_duration", "durationMs": 9, **late}))) == "Z"
    assert leaf(session(*rewound({"type": "attachment", "attachment": {"type": "date"}, **late}))) == "Z"
    assert leaf(session(*rewound({"type": "progress", "data": {}, **late}))) == "E"


def test_of_lines_out_of_order_the_newest_below_the_last_one_is_resumed() -> None:
    """The last line has children that were written before it: the newest of its subtree is the end of it."""
    found = session(
        user("A", None, "one"),
        reply("D", "C", text("later"), timestamp="2026-01-05T09:00:09.000Z"),
        reply("E", "C", text("earlier"), timestamp="2026-01-05T09:00:08.000Z"),
        user("C", "A", "two", timestamp="2026-01-05T09:00:07.000Z"),
    )
    assert leaf(found) == "D"
    assert uuids(found.active) == ["A", "C", "D"]


def test_times_do_not_matter_to_new_versions() -> None:
    said = rewound()
    said[3]["timestamp"] = "2030-01-01T00:00:00.000Z"
    assert leaf(session(*said)) == "E"


def test_a_sidechain_is_never_resumed() -> None:
    assert leaf(session(*rewound(user("S", None, "Look.", isSidechain=True)))) == "E"
    alone = session(user("S", None, "Look.", isSidechain=True))
    assert clew.request(alone).refusal == "no conversation in this file"
    assert alone.leaf is not None  # but the agent's own file can be read


# -- the older rule


@pytest.mark.req("R348")
def test_older_versions_resume_the_newest_time() -> None:
    said = rewound()
    said[3]["timestamp"] = "2030-01-01T00:00:00.000Z"
    assert leaf(session(*said), OLD) == "C"
    assert leaf(session(*rewound(pin("C"))), OLD) == "E"  # they know no pins


@pytest.mark.req("R348")
@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("2026-01-06T00:30:00.000+02:00", "2026-01-05T23:00:00.000Z"),  # the later text is the earlier instant
        ("2026-01-05T23:00:00Z", "2026-01-05T23:00:00.001+00:00"),
        ("2026-01-05T22:00:00.000Z", 1767654000000),  # milliseconds: 23:00
    ],
)
def test_times_are_compared_as_instants(early: str, late: str | int) -> None:
    said = rewound()
    said[3]["timestamp"], said[5]["timestamp"] = late, early
    assert leaf(session(*said), OLD) == "C"
    said[3]["timestamp"], said[5]["timestamp"] = early, late
    assert leaf(session(*said), OLD) == "E"
    assert session(*said).ended == session(user("X", None, "", timestamp=late)).ended


def test_versions_are_compared_by_their_numbers() -> None:
    assert version_key("2.1.100") > version_key("2.1.45") > version_key("2.0.76")
    assert not Era("2.1.100").leaf_by_order
    assert Era("2.1.140").leaf_by_order
    assert Era.newest().version == NEWEST == NEW


# -- what the path takes with it


def parallel() -> Session:
    told = talk(version="2.1.29").user("go").reply(calls=[bash("a").with_id("a"), bash("b").with_id("b")])
    return opened(told.result("A", for_="a").result("B", for_="b").reply("done"))


@pytest.mark.req("R147")
def test_parallel_results_are_repaired_where_the_version_repairs_them() -> None:
    assert texts(clew.request(parallel(), NEW).messages) == [
        "user: go",
        "assistant: (a) (b)",
        "user: [a] [b]",
        "assistant: done",
    ]
    lost = texts(clew.request(parallel(), "2.1.29").messages)
    assert lost == ["user: go", "assistant: (b)", "user: [b]", "assistant: done"]


def test_a_sibling_of_another_reply_stays_beside_the_path() -> None:
    """A regenerated answer: only what belongs to the replies on the path is pulled in."""
    found = session(
        user("A", None, "go"),
        reply("B", "A", use("toolu_1"), mid="first"),
        result("C", "B", "toolu_1"),
        reply("D", "A", use("toolu_2"), mid="second"),
        result("E", "D", "toolu_2"),
        reply("F", "E", text("done")),
    )
    assert uuids(found.active) == ["A", "D", "E", "F"]


@pytest.mark.req("R148")
def test_a_missing_parent_is_bridged_by_new_versions_and_cuts_in_old_ones() -> None:
    found = session(
        user("A", None, "one"), reply("B", "A", text("1")), user("C", "gone", "two"), reply("D", "C", text("2"))
    )
    assert texts(clew.request(found, NEW).messages) == ["user: one", "assistant: 1", "user: two", "assistant: 2"]
    assert texts(clew.request(found, OLD).messages) == ["user: two", "assistant: 2"]


@pytest.mark.req("R148")
def test_a_cycle_ends_the_path_or_hangs_old_versions() -> None:
    found = session(
        user("A", "D", "one"), reply("B", "A", text("1")), user("C", "B", "two"), reply("D", "C", text("2"))
    )
    assert len(clew.request(found, NEW).messages) == 4
    assert "hangs version 2.1.29" in clew.request(found, "2.1.29").refusal


def test_a_message_without_a_time_cannot_be_resumed_any_more() -> None:
    found = session(user("A", None, "one"), reply("B", "A", text("1"), timestamp=None))
    assert clew.request(found, NEW).refusal == "the last message has no time"
    assert clew.request(found, OLD).is_resumable
