"""Which change wrote a line: what is certain after one step, and after a chain of recorded calls."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from clew.conversation.session import Session
from clew.demo.talk import ABSENT, Talk, edit, talk, tool, write
from clew.facts.line_origins import AMBIGUOUS, BEFORE, OUTSIDE, Replay, carry_origins

PATH = "/home/ada/a.py"
LONG = ["total_of_the_order = 0", "count_of_all_breads = 1", "the_tax_of_the_order = 2"]


def carry(old: str, new: str) -> list[int]:
    """The origins after change 9, if the lines of the old text have the origins 0, 1, 2 …"""
    lines = old.split()
    return carry_origins(lines, range(len(lines)), new.split(), 9)


@pytest.mark.parametrize(
    ("old", "new", "origins"),
    [
        ("a b c", "a b c", [0, 1, 2]),
        ("a b c", "a x b c", [0, 9, 1, 2]),
        ("a b c", "a c", [0, 2]),
        ("a b c", "a x c", [0, 9, 2]),
        ("", "a b", [9, 9]),
        ("a b", "", []),
        # one brace was added, and it can be either of them
        ("a }", "a } b }", [0, AMBIGUOUS, 9, AMBIGUOUS]),
        ("a }", "a } }", [0, AMBIGUOUS, AMBIGUOUS]),
        # one of two braces was removed
        ("a } } b", "a } b", [0, AMBIGUOUS, 3]),
        # a brace among replaced lines can be the old one or a new one
        ("x } y", "u } v", [9, AMBIGUOUS, 9]),
        ("a } x b", "a } y b", [0, 1, 9, 3]),
    ],
)
def test_one_step_places_only_what_is_certain(old: str, new: str, origins: list[int]) -> None:
    assert carry(old, new) == origins


def test_a_distinctive_line_divides_a_rewritten_block() -> None:
    first, second, third = LONG
    old, new = ["x", first, "}", second, "y"], ["u", first, "}", second, "}", third]
    assert carry_origins(old, range(5), new, 9) == [9, 1, 2, 3, AMBIGUOUS, 9]
    assert carry_origins(LONG, range(3), [second, first, third], 9) == [AMBIGUOUS, AMBIGUOUS, 2]


def trace(made: Talk, now: str | None = None) -> list[tuple[int, bool]]:
    """The origin of each line after the calls of a session, by their numbers among the calls."""
    replay = Replay()
    for index, call in enumerate(Session(made.bytes()).calls):
        replay.apply(index, call)
    return [(origin.change, origin.by_content) for origin in replay.finish(replay.text or "" if now is None else now)]


def record(before: str, old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"filePath": PATH, "originalFile": before, "oldString": old, "newString": new, **more}


def unrecorded(made: Talk, old: str, new: str) -> Talk:
    return replace(made, files={}).reply(call=edit(PATH, old, new)).result("ok", detail=ABSENT)


def test_a_file_is_written_and_edited() -> None:
    made = talk().user("go").reply(call=write(PATH, "one\ntwo\nthree\n")).result()
    made = made.reply(call=edit(PATH, "two", "2")).result()
    assert trace(made) == [(0, False), (1, False), (0, False)]


def test_what_was_changed_in_between_is_not_the_sessions() -> None:
    made = talk().user("go").reply(call=write(PATH, "one\ntwo\n")).result().reply(call=edit(PATH, "two", "2"))
    made = made.result("ok", detail=record("zero\none\ntwo\n", "two", "2"))
    assert [number for number, _ in trace(made)] == [OUTSIDE, 0, 1]
    assert [number for number, _ in trace(made, "zero\none\n2\nthree")] == [OUTSIDE, 0, 1, OUTSIDE]


def test_what_was_there_before_stays_unknown() -> None:
    made = talk().user("go").reply(call=edit(PATH, "b", "x")).result("ok", detail=record("a\nb\n", "b", "x"))
    assert [number for number, _ in trace(made)] == [BEFORE, 0]


def test_line_ends_and_a_missing_last_one_do_not_matter() -> None:
    made = talk().user("go").reply(call=edit(PATH, "a\nb", "a\nx"))
    made = made.result("ok", detail=record("\ufeffa\r\nb\r\n", "a\nb", "a\nx"))
    assert [number for number, _ in trace(made, "a\nx")] == [BEFORE, 0]


def test_a_deleted_line_takes_its_newline_along() -> None:
    made = talk().user("go").reply(call=write(PATH, "a\nb\nc\n")).result()
    replay = Replay()
    calls = Session(unrecorded(made, "b", "").bytes()).calls
    for index, call in enumerate(calls):
        replay.apply(index, call)
    assert replay.text == "a\nc\n"


def test_edits_without_a_record_are_undone_from_the_next_known_text() -> None:
    """Sub-agents often store no record: the text after the edits says what was before them."""
    first, second, third = LONG
    made = unrecorded(talk().user("go"), "a", f"{first}\n}}")
    made = unrecorded(made, "b", second)
    now = f"x\n{first}\n}}\n{second}\n{third}\n"
    assert trace(made, now) == [(BEFORE, False), (0, False), (0, False), (1, False), (BEFORE, False)]


def test_a_line_is_placed_by_its_text_if_one_change_added_it() -> None:
    first, second, third = LONG
    made = unrecorded(talk().user("go"), "a", f"{first}\n}}\n{second}")
    assert trace(made, f"{second}\n}}\n{third}\n{first}\n") == [
        (0, True),
        (AMBIGUOUS, False),
        (AMBIGUOUS, False),
        (0, True),
    ]
    assert trace(made, f"{first}\n{second}\n{first}\n") == [(AMBIGUOUS, False), (0, True), (AMBIGUOUS, False)]
    twice = unrecorded(made, "c", f"{third}\n{first}\n.")
    assert trace(twice, f"{third}\n{first}\n") == [(1, True), (AMBIGUOUS, False)]


def test_a_write_over_an_unknown_content_claims_nothing() -> None:
    made = talk().user("go").reply(call=write(PATH, "\n".join(LONG))).result("updated", detail=ABSENT)
    assert {number for number, _ in trace(made)} == {AMBIGUOUS}
    created = talk().user("go").reply(call=write(PATH, "a")).result("File created successfully at: a", detail=ABSENT)
    assert trace(created) == [(0, False)]


def test_a_read_shows_what_is_new_since_the_last_change() -> None:
    made = talk().user("go").reply(call=write(PATH, "a\nb\n")).result()
    shown = made.reply(call=tool("Read", file_path=PATH)).result("     1→a\n     2→h\n     3→b\n     4→", detail=ABSENT)
    for more, origins in ((shown, [0, OUTSIDE, 0, 2]), (made, [0, AMBIGUOUS, AMBIGUOUS, AMBIGUOUS])):
        again = more.reply(call=write(PATH, "a\nh\nb\nc\n")).result("updated", detail=ABSENT)
        replay = Replay()
        for index, call in enumerate(Session(again.bytes()).calls):
            replay.apply(index, call, "one conversation" if more is shown else f"conversation {index}")
        assert replay.origins == origins


def test_a_part_that_was_read_says_nothing_about_the_file() -> None:
    made = talk().user("go").reply(call=write(PATH, "a\nb\n")).result()
    part = {"type": "text", "file": {"content": "b", "startLine": 2, "numLines": 1, "totalLines": 3}}
    made = made.reply(call=tool("Read", file_path=PATH, offset=2, limit=1)).result("2→b", detail=part)
    assert trace(made) == [(0, False), (0, False)]


def test_a_restored_file_has_its_authors_again() -> None:
    made = (
        talk().user("go").reply(call=write(PATH, "a\n}\nb\n")).result().reply(call=edit(PATH, "a\n}\nb", "c")).result()
    )
    assert trace(made, "a\n}\nb\n") == [(0, False)] * 3


def test_all_places_are_replaced_and_several_edits_are_one_change() -> None:
    made = talk().user("go").reply(call=write(PATH, "a = b\nc\nb = a\n")).result()
    made = made.reply(call=edit(PATH, "a", "z", everywhere=True)).result()
    edits = [{"old_string": "c", "new_string": "d"}, {"old_string": "d", "new_string": "e\nf"}]
    made = made.reply(call=tool("MultiEdit", file_path=PATH, edits=edits)).result("ok", detail={"edits": edits})
    assert [number for number, _ in trace(made)] == [1, 2, 2, 1]


def test_what_the_user_changed_in_a_proposal_is_not_the_models() -> None:
    first, second, third = LONG
    proposal = record("a\n", "a", f"{first}\n{second}", userModified=True)
    made = talk().user("go").reply(call=edit(PATH, "a", f"{first}\n{second}")).result("ok", detail=proposal)
    replay = Replay()
    [call] = Session(made.bytes()).calls
    replay.apply(0, call)
    assert [o.change for o in replay.finish(f"{first}\n{third}\n")][1] == OUTSIDE


def test_a_notebook_is_compared_as_its_file_is() -> None:
    call = tool("NotebookEdit", notebook_path="/n.ipynb", new_source="1")
    made = talk().user("go").reply(call=call).result("ok", detail={"original_file": "{\n}", "updated_file": "{\n1\n}"})
    assert [number for number, _ in trace(made)] == [BEFORE, 0, BEFORE]
    unknown = talk().user("go").reply(call=call).result("ok", detail=ABSENT)
    assert [number for number, _ in trace(unknown, "{\n1\n}")] == [AMBIGUOUS] * 3
