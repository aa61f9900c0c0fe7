"""The queue: what was typed while the model was busy, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.conversation.prompt_queue import Timeline, queue_timeline
from clew.conversation.session import Session
from clew.demo.talk import talk
from clew.wire.entry import entries, read
from clew.wire.json_codec import encode
from tests.conversation.lines import opened
from tests.step_count import Work, assert_linear


def queue(*operations: tuple[str, Any]) -> Timeline:
    """Operations a second apart; a content of None is left out."""
    lines = []
    for second, (operation, content) in enumerate(operations):
        line = {"type": "queue-operation", "operation": operation, "timestamp": f"2026-01-05T09:00:{second:02}.000Z"}
        lines.append(encode(line if content is None else {**line, "content": content}))
    return queue_timeline(entries(read(b"\n".join(lines))))


def told(found: Timeline) -> list[tuple[str, str]]:
    return [(message.text, message.outcome) for message in found.messages]


@pytest.mark.req("R067")
def test_messages_leave_in_the_order_in_which_they_came() -> None:
    found = queue(("enqueue", "a"), ("enqueue", "b"), ("dequeue", None), ("enqueue", "c"), ("dequeue", None))
    assert told(found) == [("a", "dequeue"), ("b", "dequeue"), ("c", "waiting")]
    assert [message.seconds for message in found.messages] == [2, 3, None]
    assert [message.text for message in found.waiting] == ["c"]
    assert found.strays == ()


@pytest.mark.req("R067")
def test_a_removal_with_a_text_takes_that_message() -> None:
    found = queue(("enqueue", "a"), ("enqueue", "b"), ("enqueue", "b"), ("remove", "b"), ("dequeue", None))
    assert told(found) == [("a", "dequeue"), ("b", "remove"), ("b", "waiting")]


@pytest.mark.req("R067")
def test_a_removal_without_a_text_takes_the_oldest() -> None:
    assert told(queue(("enqueue", "a"), ("enqueue", "b"), ("remove", None))) == [("a", "remove"), ("b", "waiting")]


def test_all_may_be_taken_at_once() -> None:
    found = queue(("enqueue", "a"), ("enqueue", "b"), ("popAll", "a\nb"), ("enqueue", "c"))
    assert told(found) == [("a", "popAll"), ("b", "popAll"), ("c", "waiting")]


@pytest.mark.req("R067")
def test_what_matches_no_message_is_listed() -> None:
    found = queue(
        ("dequeue", None), ("enqueue", "a"), ("remove", "other"), ("shuffle", None), ("dequeue", None), ("popAll", None)
    )
    assert told(found) == [("a", "dequeue")]
    assert [entry.data["operation"] for entry in found.strays] == ["dequeue", "remove", "shuffle", "popAll"]


def test_a_message_of_blocks_and_the_reason_of_its_end() -> None:
    said = talk().user("go").queue("enqueue", "also this").queue("remove", "also this", reason="absorbed_mid_turn")
    (message,) = queue_timeline(Session(said.reply("yes").bytes()).entries).messages
    assert (message.text, message.outcome, message.reason) == ("also this", "remove", "absorbed_mid_turn")
    assert told(queue(("enqueue", [{"type": "text", "text": "in blocks"}]), ("dequeue", None))) == [
        ("in blocks", "dequeue")
    ]


def test_a_session_without_a_queue_has_an_empty_one() -> None:
    assert queue_timeline(Session(talk().user("hi").reply("hello").bytes()).entries) == Timeline((), ())


@given(
    st.lists(
        st.tuples(st.sampled_from(["enqueue", "dequeue", "remove", "popAll", "x"]), st.sampled_from([None, "a", "b"]))
    )
)
def test_every_operation_is_accounted_for_once(operations: list[tuple[str, str | None]]) -> None:
    found = queue(*operations)
    begun = [message.entry.line.number for message in found.messages]
    ended = {message.ending.line.number for message in found.messages if message.ending}
    stray = [entry.line.number for entry in found.strays]
    assert sorted([*begun, *ended, *stray]) == list(range(1, len(operations) + 1))
    assert all(m.ending is None or m.ending.line.number > m.entry.line.number for m in found.messages)


@pytest.mark.shared
@pytest.mark.req("R067")
def test_the_queue_of_a_real_session(shared: Path) -> None:
    (path,) = (shared / "oracle/samples/2.1.325/tui_queue").glob(".claude/projects/*/*.jsonl")
    (message,) = queue_timeline(Session(path).entries).messages
    assert (message.text, message.outcome, message.reason) == ("Just also say this", "remove", "absorbed_mid_turn")
    assert message.seconds == 6.163


def test_messages_that_wait_in_the_queue_together() -> None:
    def prepare(count: int) -> Work:
        told = talk()
        for number in range(count):
            told = told.queue("enqueue", f"do {number}")
        for number in range(count):
            told = told.queue("remove", f"do {number}") if number % 2 else told.queue("dequeue")
        entries = opened(told).entries
        return lambda: queue_timeline(entries)

    assert_linear(prepare, 30)
