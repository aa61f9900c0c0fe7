"""The facts of a file that is read line by line are those of the file that is read at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.collect.identity import Owner, save_owner
from clew.collect.masking import Policy
from clew.collect.sql.content_columns import facts_without_contents
from clew.collect.sql.fact_changes import ROW_TABLES, sum_hashes, whole_rows
from clew.collect.sql.fact_cursor import FactCursor
from clew.collect.sql.fact_rows import ChangedFile, changed_since, owner_columns
from clew.collect.sql.fact_tables import FILE, FileFacts
from clew.collect.sql.open_files import MAX_OPEN, MAX_REST, OpenFile, OpenFiles, build_facts
from clew.collect.sql.sent_facts import SentFacts
from clew.conversation.session_growth import MARGIN
from clew.facts.prices import Prices, load
from clew.wire.json_codec import encode
from tests.collect.collect_fixture import World, session
from tests.collect.talks import growing_turn, outcome_session
from tests.conversation.lines import Json
from tests.conversation.test_always import FILES
from tests.oracle.generate import generate

Rows = dict[str, dict[Any, tuple[Any, ...]]]


@pytest.fixture(scope="module")
def prices() -> Prices:
    return load()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def changed_file(seq: int, agent: str = "") -> ChangedFile:
    return ChangedFile(1, 1, "a/b.jsonl", "a", "b", agent, seq, 100 * seq)


def all_rows(facts: FileFacts) -> Rows:
    assert facts.continues is None
    rows: Rows = {FILE.name: {"": facts.rows[FILE.name][0]}}
    for table in ROW_TABLES:
        index = list(table.columns).index(table.key[-1])
        rows[table.name] = {row[index]: row for row in whole_rows(facts, table.name)}
    return rows


class Shelf:
    """A store that applies changes, as far as it has what they were computed from."""

    def __init__(self) -> None:
        self.sent = SentFacts("shelf")
        self.rows: Rows = {}
        self.parts = 0  # changes of which only some rows were built

    def take(self, facts: FileFacts) -> None:
        change = self.sent.compare(facts)
        if change.base is None:
            self.rows = all_rows(change.facts)
        else:
            self.parts += change.facts.continues is not None
            self.rows[FILE.name] = {"": change.facts.rows[FILE.name][0]}
            for table in ROW_TABLES:
                columns = list(table.columns)
                key, day = columns.index(table.key[-1]), columns.index("day")
                for name, on_day in change.deleted[table.name]:
                    assert self.rows[table.name].pop(name)[day] == on_day
                self.rows[table.name] |= {row[key]: row for row in change.rows[table.name]}
        self.sent.note([(change, change.state)], {})


def grow(lines: Sequence[bytes], cuts: Sequence[int], prices: Prices, margin: int, agent: str = "") -> Shelf:
    """Read a file up to each of some lines, and compare what a store has with the facts of a file that is read at once."""
    shelf, numbers = Shelf(), Shelf()
    owner = owner_columns("h", Owner("ada"), changed_file(0, agent))
    growing = OpenFile(owner, changed_file(0), prices, margin)
    start = 0
    for cut in [*sorted({*cuts}), len(lines)]:
        if cut <= start:
            continue
        growing.add(lines[start:cut])
        start, file = cut, changed_file(cut, agent)
        facts = growing.build(file)
        shelf.take(facts)
        numbers.take(facts_without_contents(facts))
        at_once = OpenFile(owner, file, prices)
        at_once.add(lines[:cut])
        whole = at_once.build_all(file)
        assert shelf.rows == all_rows(whole), cut
        assert numbers.rows == all_rows(facts_without_contents(whole)), cut
        check = SentFacts("check").compare(whole)
        found = shelf.sent._find("h", 1)
        assert found is not None and found[1].digest == check.digest == sum_hashes(check.hashes)
    return shelf


@given(FILES, st.lists(st.integers(1, 16), max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_lines_can_be_added_in_any_steps(file: list[Json], cuts: list[int]) -> None:
    grow([encode(line) for line in file], [min(cut, len(file)) for cut in cuts], load(), 0)


@pytest.mark.parametrize("seed", range(60))
def test_conversations_with_forks_compactions_agents_and_damage_can_be_added_in_any_steps(
    seed: int, prices: Prices
) -> None:
    lines = b"".join(generate(seed).lines).split(b"\n")[:-1]
    chance = Random(seed)
    steps = range(1, len(lines)) if seed % 2 else [chance.randrange(1, len(lines) + 1) for _ in range(6)]
    grow(lines, list(steps), prices, chance.choice((0, 0, 3, 8)), chance.choice(("", "agent")))


def note(kind: str, **fields: Any) -> bytes:
    return encode({"type": kind, "sessionId": "s", **fields})


def test_a_long_session_with_everything_that_happens_to_one(prices: Prices) -> None:
    """Titles that change, commits, a link to a pull request that a call printed, damaged and blank lines, a rewind."""
    lines: list[bytes] = []
    for number in range(24):
        lines += growing_turn(number).splitlines()
        match number % 12:
            case 3:
                lines.append(note("custom-title", customTitle=f"title {number}"))
            case 5:
                lines.append(b'{"type": "user", "uuid": "torn')
            case 7:
                lines.append(note("pr-link", prNumber=7, prUrl="https://github.com/shop/outcomes/pull/7"))
            case 8:
                lines.append(b"")
            case 9:
                lines.append(note("last-prompt", lastPrompt=f"prompt {number}"))
    lines += outcome_session().splitlines()
    for number in range(24, 40):
        lines += growing_turn(number, above=9 if number == 24 else None).splitlines()
    shelf = grow(lines, range(1, len(lines)), prices, 3)
    assert shelf.parts > len(lines) / 2


def test_a_growing_session_is_not_built_again(prices: Prices) -> None:
    """The rows that are built for a new turn are those of the last lines, however long the session is."""
    file = OpenFile(owner_columns("h", Owner(), changed_file(0)), changed_file(0), prices)
    built = []
    for number in range(200):
        file.add(growing_turn(number).splitlines())
        facts = file.build(changed_file(number + 1))
        if number > 100:
            assert facts.continues is not None and facts.continues.seq == number
        built.append(sum(map(len, facts.rows.values())))
    assert max(built[100:150]) == max(built[150:]) <= 3 * MARGIN + 3


# -- files of an archive


def test_open_files_are_read_on_and_closed(world: World, prices: Prices) -> None:
    """A file is read on while lines are only added; else, or if it was closed, it is read again."""
    files = OpenFiles(world.connection, prices)
    host, seq = world.archive.host, 0

    def send(now: float = 0.0) -> list[FileFacts]:
        nonlocal seq
        world.poll()
        built = []
        for file in changed_since(world.connection, seq):
            built.append(files.build(host, file, Policy(), now))
            whole = build_facts(world.connection, host, file, Policy(), prices)
            last = built[-1].continues.build_all() if built[-1].continues else built[-1]
            assert last == whole
            seq = file.seq
        return built

    def is_read_on() -> bool:
        world.append(session(1), growing_turn(count := len(turns)))
        turns.append(count)
        [facts] = send()
        return facts.continues is not None

    turns = list(range(50))
    world.write(session(1), b"".join(map(growing_turn, turns)))
    send()
    assert is_read_on() and is_read_on()
    save_owner(world.connection, Owner("another"))
    assert not is_read_on() and is_read_on()
    world.connection.execute("INSERT INTO about VALUES('repairs', '1')")
    assert not is_read_on() and is_read_on()
    files.close_resting(MAX_REST)
    assert is_read_on()
    files.close_resting(MAX_REST + 1)
    assert not is_read_on() and is_read_on()
    for number in range(2, MAX_OPEN + 1):
        world.write(session(number), growing_turn(0, name=str(number)))
    send()
    assert is_read_on()
    world.write(session(MAX_OPEN + 1), growing_turn(0, name="one more"))
    world.write(session(MAX_OPEN + 2), growing_turn(0, name="and another"))
    send()
    assert is_read_on(), "the others were used before it"
    for number in range(2, MAX_OPEN + 2):
        world.append(session(number), growing_turn(1, name=str(number)))
    send()
    assert not is_read_on()
    world.write(session(1), b"".join(growing_turn(n, name="again") for n in range(3)))
    assert [facts.continues for facts in send()] == [None]


def test_facts_of_a_store_that_failed_are_sent_completely(world: World, prices: Prices) -> None:
    """What was built and not accepted is no base of what is built next."""
    cursor = FactCursor(world.connection, "shelf", prices, clock=lambda: 0.0)
    shelf = Shelf()
    world.write(session(1), b"".join(map(growing_turn, range(51))))
    for number in range(51, 63):
        world.append(session(1), growing_turn(number))
        world.poll()
        [[facts]] = cursor.batches(Policy())
        if number % 3:
            shelf.take(facts)
            [file] = changed_since(world.connection, 0)
            whole = build_facts(world.connection, world.archive.host, file, Policy(), prices)
            assert shelf.rows == all_rows(whole)
    assert shelf.parts == 4, "of each three facts, the first is lost, and the second complete"
