"""Facts are sent as changes: the store has after each the same rows as if everything had been sent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from clew.collect.identity import Owner, save_owner
from clew.collect.masking import Policy
from clew.collect.sinks.lake.delta_tables import Lake
from clew.collect.sinks.lake.duckdb_engine import DuckEngine
from clew.collect.sinks.lake.maintenance import compact
from clew.collect.sinks.lake.sink import LakeFacts
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from clew.collect.sinks.paced_cursors import PacedFactCursor
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.tables import PostgresFacts
from clew.collect.sql.fact_changes import ROW_TABLES, compare_facts, sum_hashes
from clew.collect.sql.fact_rows import changed_since
from clew.collect.sql.fact_tables import FILE, TABLES, FileFacts
from clew.collect.sql.open_files import build_facts
from clew.collect.sql.sent_facts import SentFacts
from clew.errors import StoreError
from clew.facts.prices import load
from tests.collect.collect_fixture import World, session
from tests.collect.engines import answer, send
from tests.collect.postgres import PASSWORD, Store
from tests.collect.talks import growing_turn

ONE, TWO = session(1), session(2)
EVENTS = ("append", "append", "branch", "rewrite", "owner", "lose", "older", "again", "damage", "delete")
LAKE_EVENTS = ("branch", "rewrite", "lose", "fail", "back", "compact")


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def built(world: World) -> dict[str, list[tuple[Any, ...]]]:
    """All facts of an archive, built from nothing."""
    rows: dict[str, list[tuple[Any, ...]]] = {table.name: [] for table in TABLES}
    for file in changed_since(world.connection, 0):
        facts = build_facts(world.connection, world.archive.host, file, Policy(), load())
        for table in TABLES:
            rows[table.name] += facts.rows[table.name]
    return {name: sorted(set(found), key=repr) for name, found in rows.items()}


def stored(store: Store, host: str) -> dict[str, list[tuple[Any, ...]]]:
    query = "SELECT {} FROM clew.{} WHERE host = %s"
    return {table.name: sorted(store.ask(query.format(table.names, table.name), [host]), key=repr) for table in TABLES}


def deliver(world: World, store: Store) -> None:
    world.poll()
    link = PostgresConnection(store.address("ada"), PASSWORD)
    try:
        for outcome in send(world.connection, link, Policy()):
            assert outcome.error is None and not outcome.rejected
    finally:
        link.close()


def cache(world: World) -> Path:
    return Path(world.path).with_name("facts-sent.db")


# -- the difference of two states


def random_facts(chance: Random, seq: int) -> FileFacts:
    """Facts with few keys, so that rows are replaced, deleted, repeated, and moved to another day."""
    rows: dict[str, list[tuple[Any, ...]]] = {FILE.name: [tuple("" for _ in FILE.columns)]}
    for table in ROW_TABLES:
        made = []
        for _ in range(chance.randrange(8)):
            values = {
                **dict.fromkeys(table.columns, 0),
                "host": "h",
                "file": 1,
                "day": f"2026-05-0{chance.randrange(1, 4)}",
            }
            values[table.key[-1]] = chance.randrange(5)
            values["project"] = chance.randrange(2)
            made.append(tuple(values.values()))
        rows[table.name] = made
    return FileFacts("h", 1, seq, rows)


def test_a_change_leads_to_the_same_rows_as_everything() -> None:
    chance = Random(20)
    sent = SentFacts("sink")
    store: dict[tuple[str, Any], tuple[Any, ...]] = {}
    for seq in range(1, 400):
        facts = random_facts(chance, seq)
        change = sent.compare(facts)
        for table in ROW_TABLES:
            key, day = list(table.columns).index(table.key[-1]), list(table.columns).index("day")
            for name, on_day in change.deleted[table.name]:
                assert store[table.name, name][day] == on_day
                del store[table.name, name]
            store.update({(table.name, row[key]): row for row in change.rows[table.name]})
        whole = compare_facts(facts, None, {})
        assert change.digest == whole.digest == sum_hashes(whole.hashes)
        assert sorted(store.values(), key=repr) == sorted((r for rows in whole.rows.values() for r in rows), key=repr)
        sent.note([(change, change.state)], {})
    assert sent.compare(random_facts(chance, seq)).base is None, "without newer lines everything is sent again"


# -- a store, whatever happens between two sends


def test_the_store_has_the_same_rows_as_if_everything_were_sent(world: World, store: Store, tmp_path: Path) -> None:
    chance = Random(8)
    world.write(ONE, b"".join(growing_turn(n) for n in range(6)))
    world.write(TWO, b"".join(growing_turn(n, name="other") for n in range(3)))
    counts = {ONE: 6, TWO: 3}
    deliver(world, store)
    shutil.copy(cache(world), tmp_path / "older.db")
    for step in range(25):
        path = chance.choice((ONE, TWO))
        name = "" if path == ONE else "other"
        what = chance.choice(
            ("append", "append", "branch", "rewrite", "owner", "lose", "older", "again", "damage", "delete")
        )
        if what == "branch":  # a prompt below an earlier one: the turns after it are left
            world.append(path, growing_turn(counts[path], name=name, above=chance.randrange(counts[path])))
            counts[path] += 1
        elif what == "rewrite":
            counts[path] = chance.randrange(1, 5)
            world.write(path, b"".join(growing_turn(n, name=f"{name}{step}") for n in range(counts[path])))
        elif what == "owner":
            save_owner(world.connection, Owner(f"dev{step}", "machine", "team"))
        elif what == "lose":
            cache(world).unlink()
        elif what == "older":  # what was sent is forgotten, as after a kill, or after a backup was put back
            shutil.copy(tmp_path / "older.db", cache(world))
        elif what == "again":
            SequenceCursor(world.connection, PostgresConnection(store.address("ada")).name).resend()
        elif what == "damage":
            cache(world).write_bytes(cache(world).read_bytes()[:5000] + b"x" * 4000)
        elif what == "delete":  # the owner of the database removes a file
            store.ask("DELETE FROM clew.fact_file WHERE file = (SELECT min(file) FROM clew.fact_file)")
        if what == "older" or chance.random() < 0.3:
            shutil.copy(cache(world), tmp_path / "older.db") if cache(world).exists() else None
        for each in (ONE, TWO):  # every file has new lines, so that all facts are built again
            world.append(each, growing_turn(counts[each], name="" if each == ONE else "other"))
            counts[each] += 1
        deliver(world, store)
        assert stored(store, world.archive.host) == built(world), what


def test_a_commit_of_unknown_outcome_is_repaired(world: World, store: Store) -> None:
    """The store accepted a change, and the collector did not hear of it."""
    world.write(ONE, growing_turn(0))
    deliver(world, store)
    world.append(ONE, growing_turn(1))
    world.poll()
    link = PostgresConnection(store.address("ada"), PASSWORD)
    facts = PostgresFacts(link, SentFacts.beside(world.connection, f"{link.name}#facts"))
    before = cache(world).read_bytes()
    [file] = changed_since(world.connection, 0)
    facts.write([build_facts(world.connection, world.archive.host, file, Policy(), load())])
    link.close()
    cache(world).write_bytes(before)
    world.append(ONE, growing_turn(2))
    deliver(world, store)
    assert stored(store, world.archive.host) == built(world)


def test_a_change_that_fails_is_not_remembered(world: World, store: Store) -> None:
    world.write(ONE, growing_turn(0))
    deliver(world, store)
    world.append(ONE, growing_turn(1))
    world.poll()
    link = PostgresConnection(store.address("ada"), PASSWORD)
    facts = PostgresFacts(link, SentFacts.beside(world.connection, f"{link.name}#facts"))
    [file] = changed_since(world.connection, 0)
    good = build_facts(world.connection, world.archive.host, file, Policy(), load())
    bad = good._replace(file=99, rows={**good.rows, FILE.name: [("x",) * len(FILE.columns)]})
    with pytest.raises(StoreError):
        facts.write([good, bad])
    link.close()
    world.append(ONE, growing_turn(2))
    deliver(world, store)
    assert stored(store, world.archive.host) == built(world)


# -- a lake, likewise


class FailingLake(Lake):
    """A lake that stops answering after some commits."""

    left = 1000

    def add(self, name: str, rows: Any, transactions: Sequence[tuple[str, int]] = ()) -> None:
        if not self.left:
            raise StoreError("no answer", "unavailable", True)
        self.left -= 1
        super().add(name, rows, transactions)


def send_to_lake(world: World, lake: Lake) -> None:
    world.poll()
    facts = LakeFacts(lake, sent=SentFacts.beside(world.connection, f"{lake.name}#facts"))
    outcome = Delivery(facts, PacedFactCursor(world.connection, facts.name, load()), world.connection, Policy()).run(
        0.0
    )
    assert (
        outcome is not None and not outcome.rejected and (outcome.error is None or outcome.error.kind == "unavailable")
    )


def in_lake(lake: Lake) -> dict[str, list[tuple[Any, ...]]]:
    engine = DuckEngine(Lake(lake.name, "", {}))
    try:
        found = {table.name: answer(engine, f"SELECT {table.names} FROM {table.name}")[1] for table in TABLES}
    finally:
        engine.close()
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


@pytest.mark.parametrize("rounds", [8 if "CLEW_SOAK" in os.environ else 1])
def test_a_lake_has_the_same_rows_as_if_everything_were_sent(world: World, rounds: int) -> None:
    chance, folder = Random(rounds), world.folder
    lake, kept = FailingLake(f"delta:{folder}/lake", "", {}), folder / "kept"
    world.write(ONE, b"".join(growing_turn(n, minutes=400) for n in range(4)))
    send_to_lake(world, lake)
    shutil.copytree(folder / "lake", kept)
    count = 4
    for step in range(24):
        what = chance.choice(
            ("append", "append", "branch", "rewrite", "owner", "lose", "fail", "fail", "back", "compact")
        )
        if what == "branch":
            world.append(ONE, growing_turn(count, above=chance.randrange(count), minutes=400))
            count += 1
        elif what == "rewrite":
            count = 2
            world.write(ONE, b"".join(growing_turn(n, name=f"{step}") for n in range(count)))
        elif what == "owner":
            save_owner(world.connection, Owner(f"dev{step}", "machine", "team"))
        elif what == "lose":
            cache(world).unlink()
        elif what == "fail":  # after the commits of some of the tables
            before = in_lake(lake)
            world.append(ONE, growing_turn(count, minutes=400))
            count += 1
            lake.left = chance.randrange(4)
            send_to_lake(world, lake)
            assert in_lake(lake) == before, "a half-written change is not seen"
            lake.left = 1000
        elif what == "back":
            shutil.rmtree(folder / "lake")
            shutil.copytree(kept, folder / "lake")
            lake = FailingLake(f"delta:{folder}/lake", "", {})
        elif what == "compact":
            before = in_lake(lake)
            compact(lake, hours=0, grace=-10_000)
            assert in_lake(lake) == before
            assert all(len(before[table.name]) == rows_in_lake(lake, table.name) for table in TABLES)
        world.append(ONE, growing_turn(count, minutes=400))
        count += 1
        send_to_lake(world, lake)
        assert in_lake(lake) == built(world), (step, what)


def rows_in_lake(lake: Lake, name: str) -> int:
    table = lake.existing(name)
    return int(table.to_pyarrow_dataset().count_rows()) if table else 0


def test_a_lake_is_sent_only_what_changed(world: World, tmp_path: Path) -> None:
    lake = Lake(f"delta:{tmp_path}/lake", "", {})
    added = []
    count = 0
    for size in (20, 200):
        world.append(ONE, b"".join(growing_turn(n) for n in range(count, size)))
        send_to_lake(world, lake)
        before = sum(rows_in_lake(lake, table.name) for table in TABLES)
        world.append(ONE, growing_turn(size))
        send_to_lake(world, lake)
        added.append(sum(rows_in_lake(lake, table.name) for table in TABLES) - before)
        count = size + 1
    assert added[0] == added[1] <= 6


# -- how much is written


def written(store: Store) -> tuple[int, int]:
    """Rows of facts that were ever inserted, updated or deleted, and the bytes of the log."""
    [(rows,)] = store.ask(
        "SELECT CAST(sum(n_tup_ins + n_tup_upd + n_tup_del) AS bigint) FROM pg_stat_user_tables WHERE relname LIKE 'fact%'"
    )
    [(log,)] = store.ask("SELECT CAST(pg_current_wal_lsn() - '0/0' AS bigint)")
    return rows, log


def test_the_rows_written_for_a_new_turn_do_not_grow_with_the_session(world: World, store: Store) -> None:
    """Sends of one turn each, in a session of 50 turns and in one of 500. The log is that of the whole server, and it is
    longer after a checkpoint: of three measurements the least counts.
    """
    rows, ratios = [], []
    count = 0
    for size in (50, 500):
        world.append(ONE, b"".join(growing_turn(n) for n in range(count, size)))
        deliver(world, store)
        count = size
        measured = []
        for _ in range(3):
            before, sent = written(store), 0
            for number in range(count, count + 3):
                turn = growing_turn(number)
                sent += len(turn)
                world.append(ONE, turn)
                deliver(world, store)
            after = written(store)
            count += 3
            rows.append(after[0] - before[0])
            measured.append((after[1] - before[1]) / sent)
        ratios.append(min(measured))
    assert min(rows) == max(rows) <= 3 * 6, rows
    assert max(ratios) <= 20, ratios
