"""Compactions: a resume starts behind the last one, the history goes on before it."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from clew.demo.talk import Talk, bash, talk
from tests.conversation.lines import Json, opened, reply, session, text, texts, user, uuids

SUMMARY = "This session is being continued. They greeted each other."


def greeted(version: str = "2.1.232") -> Talk:
    return talk(version=version).user("one").reply("1").user("two").reply("2")


def boundary(uuid: str, parent: str | None = None, logical: str | None = None, **made: Any) -> Json:
    found = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": uuid}
    return {**found, "parentUuid": parent, "logicalParentUuid": logical, "compactMetadata": {"trigger": "auto", **made}}


def summary(uuid: str, parent: str | None, words: str = SUMMARY) -> Json:
    return user(uuid, parent, words, isCompactSummary=True)


@pytest.mark.req("R269")
def test_a_resume_starts_from_the_summary() -> None:
    found = opened(greeted().compact(SUMMARY).user("three").reply("3"))
    assert texts(clew.request(found).messages) == [f"user: {SUMMARY} three", "assistant: 3"]


@pytest.mark.req("R149")
def test_the_history_goes_on_before_the_boundary() -> None:
    found = opened(greeted().compact(SUMMARY).user("three").reply("3"))
    assert [turn.text for turn in found.turns] == ["one", "two", "three"]
    assert [e.text for e in found.active if e.is_compact_summary] == [SUMMARY]
    assert found.active[0] is found.entries[0]


def test_a_compaction_is_a_value() -> None:
    (made,) = opened(greeted().compact(SUMMARY, trigger="manual", pre_tokens=166503)).compactions
    assert (made.detail.trigger, made.detail.cause, made.detail.pre_tokens) == ("manual", "manual", 166503)
    assert made.summary is not None
    assert (made.summary.text, made.summary.parent) == (SUMMARY, made.boundary.uuid)


def test_the_summary_may_stand_further_behind_and_belongs_to_one_boundary() -> None:
    """New versions put attachments between the two; a boundary without a summary does not take the next one's."""
    found = session(
        user("A", None, "one"),
        boundary("B", None, "A"),
        user("C", "B", "two"),
        boundary("D", None, "C"),
        {"type": "attachment", "attachment": {"type": "date"}, "uuid": "E", "parentUuid": "D"},
        summary("F", "E"),
    )
    first, second = found.compactions
    assert first.summary is None
    assert second.summary is not None
    assert second.summary.uuid == "F"


def test_the_summary_below_a_boundary_is_its_own_wherever_it_stands() -> None:
    found = session(user("A", None, "one"), summary("C", "B"), boundary("B", None, "A"), summary("D", "C", "Another."))
    (made,) = found.compactions
    assert made.summary is not None
    assert made.summary.uuid == "C"


@pytest.mark.req("R269")
def test_of_two_compactions_the_last_one_counts() -> None:
    told = greeted().compact("First.").user("three").reply("3").compact("Second.").user("four").reply("4")
    found = opened(told)
    assert texts(clew.request(found).messages) == ["user: Second. four", "assistant: 4"]
    assert [turn.text for turn in found.turns] == ["one", "two", "three", "four"]
    assert [made.summary and made.summary.text for made in found.compactions] == ["First.", "Second."]


def test_a_boundary_cuts_also_without_a_summary() -> None:
    found = session(user("A", None, "one"), reply("B", "A", text("1")), boundary("C", None, "B"), user("D", "C", "two"))
    assert texts(clew.request(found).messages)[0] == "user: two"
    assert [turn.text for turn in found.turns] == ["one", "two"]


def test_a_boundary_with_a_parent_cuts_all_the_same() -> None:
    found = session(user("A", None, "one"), reply("B", "A", text("1")), boundary("C", "B"), summary("D", "C"))
    assert texts(clew.request(found).messages)[0] == f"user: {SUMMARY}"
    assert [turn.text for turn in found.turns] == ["one"]


@pytest.mark.req("R149")
def test_a_logical_parent_that_is_gone_is_bridged() -> None:
    """In a third of real files it is not there: what was said last before the boundary takes its place."""
    found = session(
        user("A", None, "one"),
        reply("B", "A", text("1")),
        boundary("C", None, "gone"),
        summary("D", "C"),
        user("E", "D", "two"),
    )
    assert uuids(found.active) == ["A", "B", "C", "D", "E"]
    assert [turn.text for turn in found.turns] == ["one", "two"]


def test_a_boundary_without_a_logical_parent_follows_the_line_before_it() -> None:
    found = session(user("A", None, "one"), boundary("C"), summary("D", "C"), user("E", "D", "two"))
    assert [turn.text for turn in found.turns] == ["one", "two"]


# -- messages that a compaction preserved


@pytest.mark.parametrize(
    ("version", "sent"),
    [
        ("2.1.45", [f"user: {SUMMARY} three", "assistant: 3"]),
        ("2.1.80", [f"user: {SUMMARY} two", "assistant: 2", "user: three", "assistant: 3"]),
        ("2.1.325", [f"user: {SUMMARY} two", "assistant: 2", "user: three", "assistant: 3"]),
    ],
)
def test_preserved_messages_come_behind_the_summary_in_versions_that_know_them(version: str, sent: list[str]) -> None:
    found = opened(greeted().compact(SUMMARY, keep=2).user("three").reply("3"))
    (made,) = found.compactions
    assert made.detail.segment is not None
    assert made.detail.messages is not None
    assert texts(clew.request(found, version).messages) == sent


def kept(**made: Any) -> list[str]:
    found = session(
        user("A", None, "one"),
        reply("B", "A", text("1")),
        user("C", "B", "two"),
        reply("D", "C", text("2")),
        boundary("E", None, "D", **made),
        summary("F", "E"),
        user("G", "F", "three"),
        reply("H", "G", text("3")),
    )
    return texts(clew.request(found).messages)


def test_a_preserved_segment_alone_is_enough() -> None:
    sent = kept(preservedSegment={"headUuid": "C", "anchorUuid": "F", "tailUuid": "D"})
    assert sent == [f"user: {SUMMARY} two", "assistant: 2", "user: three", "assistant: 3"]


def test_preserved_messages_alone_are_enough() -> None:
    sent = kept(preservedMessages={"anchorUuid": "F", "uuids": ["C", "D"], "allUuids": ["C", "D"]})
    assert sent == [f"user: {SUMMARY} two", "assistant: 2", "user: three", "assistant: 3"]


@pytest.mark.parametrize(
    "made",
    [
        {},
        {"preservedSegment": {"headUuid": "gone", "anchorUuid": "F", "tailUuid": "D"}},
        {"preservedSegment": {"headUuid": "C", "anchorUuid": "gone", "tailUuid": "D"}},
        {"preservedMessages": {"anchorUuid": "F", "uuids": ["gone"]}},
        {"preservedMessages": "not an object"},
    ],
)
def test_preserved_messages_that_are_not_there_are_left_out(made: dict[str, Any]) -> None:
    assert kept(**made) == [f"user: {SUMMARY} three", "assistant: 3"]


def test_a_branch_from_before_the_boundary_is_resumed_without_the_summary() -> None:
    told = greeted().compact(SUMMARY).user("three").reply("3")
    found = opened(told.at(1).user("another two").reply("2b"))
    assert texts(clew.request(found).messages) == ["user: one", "assistant: 1", "user: another two", "assistant: 2b"]
    assert [[e.text for e in b.prompts] for b in found.branches] == [["one", "two", "three"], ["one", "another two"]]


def test_calls_before_a_boundary_stay_paired() -> None:
    found = opened(talk().user("go").reply(call=bash("ls")).result("a").compact(SUMMARY).user("on").reply("ok"))
    assert [call.output for call in found.turns[0].calls] == ["a"]
