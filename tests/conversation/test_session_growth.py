"""A session that is extended line by line is the session that is read at once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.conversation.session import Session
from clew.conversation.session_growth import MARGIN, extend_session
from clew.demo.talk import Talk, bash, talk
from clew.wire.entry import Item, read
from clew.wire.json_codec import encode
from tests.conversation.lines import Json
from tests.conversation.test_always import FILES
from tests.oracle.generate import generate

DERIVED = ("entries", "is_agent", "leaf", "active", "preamble", "turns", "pairing", "branches", "rounds")


def grow(items: Sequence[Item], cuts: Sequence[int], margin: int = 0) -> list[Session]:
    """The sessions of a file that is read up to each of some lines, each the extension of the one before."""
    grown: list[Session] = []
    start = 0
    for cut in [*sorted(cuts), len(items)]:
        fresh = items[start:cut]
        grown.append(extend_session(grown[-1], fresh, margin) if grown else Session(tuple(fresh)))
        assert grown[-1].rounds is not None  # rounds are extended if those before are known
        start = cut
    return grown


def check(grown: Session) -> None:
    """Compare an extended session with the one of the same lines."""
    whole = Session(grown.items)
    for name in DERIVED:
        assert getattr(grown, name) == getattr(whole, name), name
    assert [turn.number for turn in grown.turns] == [turn.number for turn in whole.turns]


@given(FILES, st.lists(st.integers(0, 16), max_size=6))
@settings(max_examples=300)
def test_any_lines_can_be_added_in_any_steps(file: list[Json], cuts: list[int]) -> None:
    items = tuple(read(b"".join(encode(line) + b"\n" for line in file)))
    for session in grow(items, [min(cut, len(items)) for cut in cuts]):
        check(session)


@pytest.mark.parametrize("seed", range(120))
def test_conversations_with_forks_compactions_agents_and_damage_can_be_added_in_any_steps(seed: int) -> None:
    items = tuple(read(generate(seed).data))
    chance = Random(seed)
    steps = range(1, len(items)) if seed % 2 else [chance.randrange(len(items) + 1) for _ in range(6)]
    for session in grow(items, list(steps), chance.choice((0, 0, 3, 8))):
        check(session)


def long_talk(turns: int) -> Talk:
    told = talk(seed="long", cwd="/home/ada/long")
    for number in range(turns):
        told = told.user(f"prompt {number}").reply("Looking.", call=bash("ls")).result("a b").reply(f"answer {number}")
    return told


def test_a_plain_conversation_is_extended_and_not_built_again() -> None:
    items = tuple(read(long_talk(60).bytes()))
    first, *later = grow(items, range(100, len(items)), MARGIN)
    assert first.settled is None
    for session in later:
        assert session.settled is not None and "links" not in vars(session)
        assert all(a is b for a, b in zip(session.rounds[:10], first.rounds, strict=False))
        assert len(session.entries) - session.settled.count <= 3 * MARGIN
        check(session)
    last = later[-1]
    assert last.unchanged_turns > 30
    assert all(a.entries is b.entries for a, b in zip(last.turns[:30], later[-2].turns[:30], strict=True))


def test_a_fork_to_an_earlier_turn_is_built_as_a_whole_and_extended_again() -> None:
    told = long_talk(40)
    count = len(told.lines())
    forked = told.rewind(to=5)
    for number in range(30):
        forked = forked.user(f"other {number}").reply(f"other answer {number}")
    items = tuple(read(forked.bytes()))
    sessions = grow(items, range(count - 5, len(items)), MARGIN)
    for session in sessions:
        check(session)
    assert sessions[-1].settled is not None


def test_a_line_of_the_main_conversation_that_follows_an_agent_is_linked_as_in_the_whole_file() -> None:
    """The path then begins at the agent's line, not at the line where the session is divided."""
    told = long_talk(12)
    count = len(told.lines())
    prompt = {"type": "user", "uuid": "00000000-0000-4000-8000-00000000a9e1", "parentUuid": None, "isSidechain": True}
    times = [f"2099-01-01T00:00:{second:02}.000Z" for second in range(12)]
    lines = [prompt | {"timestamp": times[0], "message": {"role": "user", "content": "look"}}]
    for number, time in enumerate(times[1:], 2):
        uuid, parent = f"00000000-0000-4000-8000-00000000a9e{number:x}", lines[-1]["uuid"]
        message = {"role": "user", "content": f"and {number}"}
        line = {"type": "user", "uuid": uuid, "parentUuid": parent, "isSidechain": False}
        lines.append(line | {"timestamp": time, "message": message})
    items = tuple(read(told.bytes() + b"".join(encode(line) + b"\n" for line in lines)))
    for session in grow(items, range(count - 5, len(items)), 8):
        check(session)
