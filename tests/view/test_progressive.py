"""The opening: a large session begins on the screen before it has been read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, talk, task
from clew.view.progressive import HEAD_BYTES, MIN_BYTES, progressive_rows
from clew.view.row_types import Row
from clew.view.rows import ViewOptions, rows
from clew.wire.layout import session_at

BULK = "a line of output that nobody reads to its end\n" * 500


def longer(told: Talk, turns: int, size: int = len(BULK)) -> Talk:
    """The same talk with more turns of some size each."""
    for number in range(turns):
        told = told.user(f"more {number}").reply(f"yes {number}", calls=[bash("cat a"), bash("cat b")])
        told = told.result(BULK[:size], for_=1).result(BULK[:size], for_=0).reply(f"done {number}")
    return told


def put(told: Talk, root: Path) -> Session:
    path = told.write(root)
    assert path.stat().st_size > MIN_BYTES
    return Session(path, file=session_at(path))


def plain(found: Iterable[Row]) -> list[tuple[str, str, int]]:
    return [(row.kind, row.text, row.depth) for row in found]


def test_the_first_rows_come_before_the_file_is_read(tmp_path: Path) -> None:
    session = put(longer(talk(), 120), tmp_path)
    first = list(islice(progressive_rows(session, ViewOptions()), 5))
    assert [row.kind for row in first] == ["prompt", "reply", "call", "result", "call"]
    assert "items" not in vars(session) and "entries" not in vars(session)


@pytest.mark.parametrize("size", [900, len(BULK)])
def test_a_straight_conversation_is_the_same_as_without_an_opening(tmp_path: Path, size: int) -> None:
    session = put(longer(longer(talk(), 40, size), 120), tmp_path)
    assert plain(progressive_rows(session, ViewOptions())) == plain(rows(session, session.turns, ViewOptions()))
    for depth in ("prompts", "full"):
        wish = ViewOptions(depth=depth, thinking=True)
        assert plain(progressive_rows(session, wish)) == plain(rows(session, session.turns, wish))


def test_a_turn_longer_than_the_head_is_said_once(tmp_path: Path) -> None:
    told = talk().user("one long turn")
    for number in range(260):
        told = told.reply(f"step {number}", call=bash(f"cat {number}")).result(BULK)
    session = put(told.reply("done"), tmp_path)
    assert plain(progressive_rows(session, ViewOptions())) == plain(rows(session, session.turns, ViewOptions()))


def test_when_the_first_turns_were_left_a_row_says_so(tmp_path: Path) -> None:
    told = longer(talk().user("first").reply("a").user("second").reply("b"), 10)
    session = put(longer(told.rewind(to=2).user("other").reply("c"), 120), tmp_path)
    found = list(progressive_rows(session, ViewOptions()))
    note = next(row for row in found if row.kind == "note")
    assert note.text.startswith("Here the conversation was rewound to turn 1. The ")
    assert note.text.endswith(" turns above are on an abandoned branch.")
    after = found[found.index(note) + 1 :]
    assert plain(after) == plain(rows(session, session.turns[1:], ViewOptions()))
    assert [r.text for r in found if r.kind == "prompt"][:2] == ["first", "second"]


def test_when_all_of_the_first_turns_were_left_a_row_says_that(tmp_path: Path) -> None:
    session = put(longer(longer(talk(), 10).rewind(to=1).user("anew").reply("c"), 120), tmp_path)
    note = next(row for row in progressive_rows(session, ViewOptions()) if row.kind == "note")
    assert note.text.startswith("Here the conversation was restarted. The ")


@pytest.mark.req("R196")
def test_agents_of_the_first_turns_are_shown(tmp_path: Path) -> None:
    grand = talk(seed=3).user("deeper").reply("deepest")
    child = talk(seed=2).user("count").reply(call=task("Deeper", "deeper")).agent(0, grand).reply("four")
    told = talk().user("how many?").reply(call=task("Count", "count")).agent(0, child).reply("four beds")
    session = put(longer(told, 120), tmp_path)
    first = list(islice(progressive_rows(session, ViewOptions()), 9))
    assert [row.depth for row in first if row.kind == "agent"] == [1, 2]
    assert "items" not in vars(session)
    assert plain(progressive_rows(session, ViewOptions())) == plain(rows(session, session.turns, ViewOptions()))
    assert all(row.kind != "agent" for row in progressive_rows(session, ViewOptions(agents=False)))


def test_agents_inside_the_file_are_shown_too(tmp_path: Path) -> None:
    old = partial(talk, version="2.0.10")
    child = old(seed=2).user("count").reply("four")
    told = old().user("how many?").reply(call=task("Count", "count")).agent(0, child).reply("four beds")
    session = put(longer(told, 120), tmp_path)
    found = plain(islice(progressive_rows(session, ViewOptions()), 6))
    assert ("agent", "Count", 1) in found and ("reply", "four", 1) in found


def test_a_first_line_longer_than_the_head_is_no_matter(tmp_path: Path) -> None:
    session = put(longer(talk().user("x" * (HEAD_BYTES + 10)).reply("a"), 120), tmp_path)
    assert plain(progressive_rows(session, ViewOptions())) == plain(rows(session, session.turns, ViewOptions()))


def test_a_small_file_and_bytes_have_no_opening(tmp_path: Path) -> None:
    told = talk().reply("early").user("go").reply("late")
    assert [row.text for row in progressive_rows(Session(told.bytes()), ViewOptions())] == ["early", "go", "late"]
    assert list(progressive_rows(Session(b""), ViewOptions())) == []
