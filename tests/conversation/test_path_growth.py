"""What hangs off the path of a conversation is put onto it in time that grows with the session alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.conversation.active_path import _blocks_by_position, _reply_lines
from clew.conversation.session import Session
from clew.edit.plan import plan
from tests.conversation.lines import Json, reply, result, session, text, use, user
from tests.step_count import Work, assert_linear

Shape = Callable[[int], list[Json]]
ANSWER = [user("go", "end", "Go on."), reply("done", "go", text("Done."))]


def note(uuid: str, parent: str) -> Json:
    attachment = {"type": "hook_additional_context", "content": ["x"], "hookName": "h", "hookEvent": "e"}
    return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": attachment}


def calls(count: int, every: int = 1) -> list[Json]:
    """One reply of many calls and their results; of its lines every second or third can be on the path."""
    lines, last = [user("p", None, "Hi.")], "p"
    for number in range(count):
        lines.append(reply(f"a{number}", last, use(f"t{number}"), mid="msg"))
        last = last if number % every else f"a{number}"
    parents = [f"r{number - 1}" if every == 1 and number else f"a{number}" for number in range(count)]
    parents[0] = last if every == 1 else parents[0]
    lines += [result(f"r{number}", parents[number], f"t{number}") for number in range(count)]
    return [*lines, user("end", f"r{count - 1}", "So?")]


def notes_below_results(count: int) -> list[Json]:
    return [*calls(count), *(note(f"n{number}", f"r{number}") for number in range(count)), *ANSWER]


def chain_of_notes(count: int) -> list[Json]:
    chain = [note(f"n{number}", f"n{number - 1}" if number else "r0") for number in range(count)]
    return [*calls(1), *chain, *ANSWER]


def calls_off_the_path(count: int) -> list[Json]:
    return [*calls(count, every=2), *ANSWER]


@pytest.mark.parametrize(
    ("shape", "size"), [(notes_below_results, 60), (chain_of_notes, 250), (calls_off_the_path, 60)]
)
def test_what_hangs_off_the_path_is_inserted_in_linear_time(shape: Shape, size: int) -> None:
    def prepare(count: int) -> Work:
        found = session(*shape(count))
        assert len(found.entries) > count
        return lambda: (found.resume_request.messages, Session(found.items).turns)

    assert_linear(prepare, size)


def compacted_often(count: int) -> list[Json]:
    """Compactions that name what they preserved but have a parent, so that the history continues above them."""
    lines, last = [user("p", None, "Hi.")], "p"
    for number in range(count):
        lines += [user(f"q{number}", last, "And?"), reply(f"a{number}", f"q{number}", text("Yes."))]
        segment = {"headUuid": f"q{number}", "anchorUuid": f"s{number}", "tailUuid": f"a{number}"}
        boundary = {"type": "system", "subtype": "compact_boundary", "uuid": f"b{number}", "parentUuid": f"a{number}"}
        metadata = {"trigger": "auto", "preTokens": 1, "preservedSegment": segment}
        lines.append({**boundary, "content": "Compacted", "compactMetadata": metadata})
        lines.append(user(f"s{number}", f"b{number}", "What was said.", isCompactSummary=True))
        last = f"s{number}"
    return [*lines, user("end", last, "So?"), *ANSWER]


def caveats(count: int) -> list[Json]:
    words = "<local-command-caveat>Caveat: from local commands.</local-command-caveat>"
    above = [user(f"c{number}", f"c{number - 1}" if number else None, words, isMeta=True) for number in range(count)]
    command = user(
        "end", f"c{count - 1}", "<command-name>/model</command-name>\n<command-message>model</command-message>"
    )
    return [*above, command, *ANSWER, user("more", "done", "More?"), reply("yes", "more", text("Yes."))]


@pytest.mark.parametrize("shape", [compacted_often, caveats])
def test_a_turn_is_dropped_in_linear_time(shape: Shape) -> None:
    def prepare(count: int) -> Work:
        planned = plan(session(*shape(count)))
        return lambda: planned.drop_turn(1).session.items

    assert_linear(prepare, 60)


ORDERS = st.integers(1, 8).flatmap(lambda count: st.permutations(range(count)))


@given(order=ORDERS, spoken=st.lists(st.booleans(), min_size=8, max_size=8))
def test_a_note_follows_the_last_line_that_belongs_before_it(order: list[int], spoken: list[bool]) -> None:
    """Lines of a reply belong before it, and the results that precede it in the file; on the path they have any order."""
    lines = [
        line
        for number, is_reply in zip(range(len(order)), spoken, strict=False)
        for line in (
            reply(f"a{number}", None, use("t")) if is_reply else result(f"r{number}", None, "t"),
            note("n", "x"),
        )
    ]
    entries = session(*lines).entries
    path = [entries[2 * place] for place in order]
    found = _reply_lines(path, range(len(path)))
    for each in entries[1::2]:
        before = [i for i, entry in enumerate(path) if entry.type == "assistant" or entry.offset < each.offset]
        assert found.position_of(each) == max(before, default=0)


@given(order=ORDERS, off_path=st.sets(st.integers(0, 7)))
def test_a_block_follows_the_lines_of_its_reply_that_precede_it(order: list[int], off_path: set[int]) -> None:
    """It follows the first run of lines that precede it in the file, or else the first line."""
    entries = session(*(reply(f"a{number}", None, text("x"), mid="msg") for number in range(len(order)))).entries
    path = [entries[place] for place in order if place not in off_path or place == order[0]]
    blocks = [entry for entry in entries if entry not in path]
    ranks = {entry.uuid: rank for rank, entry in enumerate(entries)}
    placed: dict[int, list[object]] = {}
    for block in blocks:
        is_earlier = [ranks[entry.uuid] < ranks[block.uuid] for entry in path]
        first = is_earlier.index(True) if True in is_earlier else 0
        run = len([*takewhile(bool, is_earlier[first:])])
        placed.setdefault(first + max(run - 1, 0), []).append(block)
    assert _blocks_by_position(path, {"msg": blocks} if blocks else {}, ranks) == placed
