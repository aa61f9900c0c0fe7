"""Stores and hosts of different versions: upgraded tables are the same as new ones, and hosts within the window send."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clew.collect.config import SinkConfig
from clew.collect.job import CollectJob, open_collector
from clew.collect.masking import Policy
from clew.collect.sinks.address import deliveries
from clew.collect.sinks.outbox import DELIVERABLE
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.setup import set_up_store
from clew.collect.sinks.postgres.store_version import OLDEST_STORE, OLDEST_WRITER, SCHEMA_VERSION, read_layout
from clew.collect.sinks.record import COLUMNS, read_records
from clew.collect.sql.fact_rows import changed_since
from clew.collect.sql.fact_tables import TABLES
from clew.collect.sql.line_rows import LINE, build_line_row
from clew.collect.sql.open_files import build_facts
from clew.errors import StoreError
from clew.facts.prices import load
from tests.collect import postgres_writer_3
from tests.collect.collect_fixture import KEY, World, session
from tests.collect.engines import answer, reading
from tests.collect.postgres import PASSWORD, Cluster, Store, furnished, needed, run
from tests.collect.test_tables import said

RELEASED = ("1", "3", "4")
_numbers = count(1)
_COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = 'clew' ORDER BY 1, 2
"""
_POLICIES = "SELECT tablename, policyname, roles, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2"
_RIGHTS = "SELECT relname, relkind, relacl::text FROM pg_class WHERE relnamespace = 'clew'::regnamespace ORDER BY 1"
_FUNCTIONS = "SELECT proname, proacl::text, prosrc FROM pg_proc WHERE pronamespace = 'clew'::regnamespace ORDER BY 1"


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def owner(store: Store) -> PostgresConnection:
    return PostgresConnection(
        f"postgresql://postgres@/{store.name}?host={store.cluster.folder}&port={store.cluster.port}"
    )


def upgrade(store: Store) -> None:
    link = owner(store)
    set_up_store(link)
    link.close()


def frozen(standing: Store, version: str) -> Store:
    """A store as an earlier version made it, by its own SQL; `standing` has made the users."""
    cluster, name = standing.cluster, f"frozen_{next(_numbers)}"
    cluster.ask(f"CREATE DATABASE {name}")
    store = Store(cluster, name)
    script = Path(__file__).with_name(f"postgres_version_{version}.sql")
    address = f"postgresql://postgres@/{name}?host={cluster.folder}&port={cluster.port}"
    run([str(needed() / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(script), address])
    return store


def add_turn(world: World, number: int) -> None:
    world.append(session(1), said(number))


def send(world: World, store: Store, user: str = "ada") -> list[Any]:
    """Poll and send, as `clew collect` does."""
    password = world.folder / "password"
    password.write_text(PASSWORD)
    world.connection.close()
    job = CollectJob(str(world.root), world.path)
    sink = SinkConfig(store.address(user), token_file=str(password))
    try:
        with open_collector(job) as collector, deliveries(collector, [sink]) as waiting:
            collector.poll()
            return [delivery.run(0.0) for delivery in waiting]
    finally:
        world.connection = world.open()


def frozen_rows(world: World) -> tuple[list[dict[str, Any]], list[dict[str, list[dict[str, Any]]]]]:
    """All lines, and the facts of each file, for the frozen writer."""
    host = world.archive.host
    query = f"SELECT {COLUMNS} WHERE {DELIVERABLE} ORDER BY o.seq"
    records = list(read_records(world.connection, host, world.connection.execute(query), Policy(KEY)))
    lines = [{**dict(zip(LINE.columns, build_line_row(each), strict=True)), "raw": each.raw} for each in records]
    facts = []
    for file in changed_since(world.connection, 0):
        built = build_facts(world.connection, host, file, Policy(KEY), load())
        facts.append(
            {
                table.name: [dict(zip(table.columns, row, strict=True)) for row in built.rows[table.name]]
                for table in TABLES
            }
        )
    return lines, facts


# -- upgrades


@pytest.mark.parametrize("version", RELEASED)
def test_upgraded_tables_are_the_same_as_new_ones(standing: Store, version: str) -> None:
    store, new = frozen(standing, version), furnished(standing.cluster, f"new_{next(_numbers)}")
    upgrade(store)
    upgrade(store)
    for query in (_COLUMNS, _POLICIES, _RIGHTS, _FUNCTIONS):
        assert store.ask(query) == new.ask(query)
    assert store.ask("SELECT name, value FROM clew.about WHERE name <> 'id' ORDER BY 1") == [
        ("oldest_writer", str(OLDEST_WRITER)),
        ("schema", str(SCHEMA_VERSION)),
        ("version", str(OLDEST_WRITER)),
    ]


# -- older hosts


def test_a_host_of_the_first_release_sends_to_a_new_store(world: World, store: Store) -> None:
    add_turn(world, 0)
    world.poll()
    lines, facts = frozen_rows(world)
    with psycopg.connect(store.address("ada"), password=PASSWORD, autocommit=True) as connection:
        postgres_writer_3.write_lines(connection, lines)
        assert [postgres_writer_3.write_facts(connection, each) for each in facts] == [True]
        postgres_writer_3.write_lines(connection, lines)
    assert store.ask("SELECT count(*) FROM clew.line") == [(len(lines),)]
    with reading(store) as engine:
        assert answer(engine, "SELECT prompt, team FROM turns")[1] == [("Question 0?", "")]


def test_a_host_that_is_upgraded_continues_what_it_sent_before(world: World, store: Store) -> None:
    add_turn(world, 0)
    world.poll()
    lines, facts = frozen_rows(world)
    with psycopg.connect(store.address("ada"), password=PASSWORD, autocommit=True) as connection:
        postgres_writer_3.write_lines(connection, lines)
        postgres_writer_3.write_facts(connection, facts[0])
    name = f"postgresql://127.0.0.1:{store.cluster.port}/{store.name}"
    for sink in (name, f"{name}#facts"):
        values = (sink, lines[-1]["seq"], lines[-1]["seq"], world.archive.host)
        world.connection.execute("INSERT INTO sink(name, seq, head, host) VALUES(?, ?, ?, ?)", values)
    add_turn(world, 1)
    assert [(o.rejected, o.error) for o in send(world, store)] == [(0, None)] * 2
    assert store.ask("SELECT count(DISTINCT host) FROM clew.host") == [(1,)]
    with reading(store) as engine:
        assert answer(engine, "SELECT prompt FROM turns ORDER BY turn")[1] == [("Question 0?",), ("Question 1?",)]


# -- older stores


@pytest.mark.parametrize("version", [version for version in RELEASED if int(version) >= OLDEST_STORE])
def test_a_host_sends_to_a_store_of_an_earlier_version(world: World, standing: Store, version: str) -> None:
    store = frozen(standing, version)
    add_turn(world, 0)
    assert [(o.rejected, o.error) for o in send(world, store)] == [(0, None)] * 2
    add_turn(world, 1)
    assert [(o.rejected, o.error) for o in send(world, store)] == [(0, None)] * 2
    assert [o.sent for o in send(world, store)] == [0, 0]
    with reading(store) as engine:
        assert answer(engine, "SELECT prompt FROM turns ORDER BY turn")[1] == [("Question 0?",), ("Question 1?",)]
    before = store.ask("SELECT count(*), count(DISTINCT (host, file, generation, start)) FROM clew.line")
    upgrade(store)
    add_turn(world, 2)
    assert [(o.rejected, o.error, o.note) for o in send(world, store)] == [(0, None, "")] * 2
    [(lines, different)] = store.ask("SELECT count(*), count(DISTINCT (host, file, generation, start)) FROM clew.line")
    assert lines == different and lines > before[0][0]
    assert store.ask("SELECT count(*) FROM clew.host WHERE mark <> 0") == [(1,)]


def test_a_store_that_is_too_old_says_what_to_do_and_keeps_what_waits(world: World, standing: Store) -> None:
    store = frozen(standing, "1")
    add_turn(world, 0)
    for outcome in send(world, store):
        assert outcome.error.kind == "version" and "sends to 3 and newer" in str(outcome.error)
        assert "clew collect setup" in outcome.error.hint
    upgrade(store)
    assert [(o.rejected, o.error) for o in send(world, store)] == [(0, None)] * 2


# -- newer stores


def test_a_host_sends_to_a_newer_store_unless_it_names_a_newer_writer(world: World, store: Store) -> None:
    """A later version adds columns with defaults, and one day it ends the support of this version."""
    store.ask("UPDATE clew.about SET value = '99' WHERE name = 'schema'")
    store.ask("ALTER TABLE clew.fact_turn ADD COLUMN mood text NOT NULL DEFAULT ''")
    store.ask("ALTER TABLE clew.line ADD COLUMN mood text NOT NULL DEFAULT ''")
    add_turn(world, 0)
    assert [(o.rejected, o.error) for o in send(world, store)] == [(0, None)] * 2
    store.ask("UPDATE clew.about SET value = '98' WHERE name = 'oldest_writer'")
    add_turn(world, 1)
    for outcome in send(world, store):
        assert outcome.error.kind == "version" and "Update clew" in outcome.error.hint
    assert world.connection.execute("SELECT count(*) FROM rejected").get == 0


def test_the_layout_names_the_columns_of_every_table(cluster: Cluster, standing: Store) -> None:
    link = owner(standing)
    with link.use() as connection:
        layout = read_layout(connection, "here")
        assert layout.version == SCHEMA_VERSION
        for table in (LINE, *TABLES):
            assert layout.fit(table) is table
    link.close()
    other = PostgresConnection(f"postgresql://postgres@/postgres?host={cluster.folder}&port={cluster.port}")
    with pytest.raises(StoreError, match="no tables of clew"), other.use() as connection:
        other.layout(connection)
    other.close()
