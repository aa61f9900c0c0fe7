"""An archive that was put back or copied, and a store that was lost: no line is missing, and none is replaced."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.collect.masking import Policy
from clew.collect.sinks.delivery_marks import current_host
from clew.collect.sinks.jsonl import JsonLines
from clew.collect.sinks.lake.delta_tables import Lake
from clew.collect.sinks.lake.sink import LakeFacts, LakeLines
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from clew.collect.sinks.paced_cursors import PacedFactCursor, PacedLineCursor
from clew.collect.sinks.parquet import ParquetFiles
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.setup import set_up_store
from clew.collect.sinks.postgres.tables import PostgresFacts, PostgresLines
from clew.collect.sinks.store_check import StoreCheck
from clew.collect.sql.fact_cursor import FactCursor
from clew.collect.sql.sent_facts import SentFacts
from clew.facts.prices import load
from tests.collect.collect_fixture import World, session
from tests.collect.postgres import PASSWORD, Store

Sent = tuple[str, list[str]]


def words(name: str, count: int = 20) -> bytes:
    """Lines that no other session has."""
    about = '{{"type":"user","sessionId":"{0}","uuid":"{0}-{1}","timestamp":"2026-11-10T09:00:00Z",'
    row = about + '"message":{{"role":"user","content":"{0} {1}"}}}}\n'
    return "".join(row.format(name, n) for n in range(count)).encode()


class Place:
    """A store of one kind."""

    def send(self, world: World) -> list[str]:
        """Send everything that waits; return what was noted about the store."""
        raise NotImplementedError

    def raw(self) -> list[bytes]:
        """Every line in the store."""
        raise NotImplementedError

    def lose(self) -> None: ...

    def missing(self, *names: str) -> list[str]:
        have = Counter(self.raw())
        return [name for name in names for line in words(name).splitlines() if not have[line]]


class Postgres(Place):
    def __init__(self, store: Store) -> None:
        self.store = store

    def send(self, world: World) -> list[str]:
        link = PostgresConnection(self.store.address("ada"), PASSWORD)
        lines = PostgresLines(link)
        facts = PostgresFacts(link, SentFacts.beside(world.connection, f"{lines.name}#facts"))
        cursor = SequenceCursor(world.connection, lines.name, 7)
        check = StoreCheck(world.connection, lines, cursor)
        outcome = Delivery(lines, cursor, world.connection, Policy(), check=check).run(0.0)
        made = Delivery(facts, FactCursor(world.connection, facts.name, load()), world.connection, Policy()).run(0.0)
        link.close()
        assert outcome and made and not outcome.error and not made.error, (outcome, made)
        return [outcome.note] if outcome.note else []

    def raw(self) -> list[bytes]:
        return [bytes(row[0]) for row in self.store.ask("SELECT raw FROM clew.line")]

    def lose(self) -> None:
        cluster = self.store.cluster
        self.store.ask("DROP SCHEMA clew CASCADE")
        link = PostgresConnection(f"postgresql://postgres@/{self.store.name}?host={cluster.folder}&port={cluster.port}")
        set_up_store(link)
        link.close()


class DeltaLake(Place):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def send(self, world: World) -> list[str]:
        lake = Lake(f"delta:{self.folder}", "", {})
        lines, facts = LakeLines(lake), LakeFacts(lake, sent=SentFacts.beside(world.connection, f"{lake.name}#facts"))
        cursor = PacedLineCursor(world.connection, lines.name)
        check = StoreCheck(world.connection, lines, cursor.place)
        outcome = Delivery(lines, cursor, world.connection, Policy(), check=check).run(0.0)
        made = Delivery(facts, PacedFactCursor(world.connection, facts.name, load()), world.connection, Policy()).run(
            0.0
        )
        assert outcome and made and not outcome.error and not made.error, (outcome, made)
        return [outcome.note] if outcome.note else []

    def raw(self) -> list[bytes]:
        table = Lake(f"delta:{self.folder}", "", {}).existing("line")
        return list(table.to_pyarrow_table(columns=["raw"]).column("raw").to_pylist()) if table else []

    def lose(self) -> None:
        shutil.rmtree(self.folder)


@pytest.fixture(params=["postgres", "lake"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Postgres(request.getfixturevalue("store")) if request.param == "postgres" else DeltaLake(tmp_path / "lake")


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.write(session(1), words("first"))
    made.poll()
    yield made
    made.close()


def copy_archive(world: World, target: Path) -> Path:
    world.reopen()
    world.connection.close()
    shutil.copy(world.path, target)
    world.connection = world.open()
    return target


def put_back(world: World, copy: Path) -> None:
    world.connection.close()
    shutil.copy(copy, world.path)
    world.connection = world.open()


def test_a_backup_that_was_put_back_loses_nothing(world: World, place: Place, tmp_path: Path) -> None:
    place.send(world)
    copy = copy_archive(world, tmp_path / "copy.db")
    world.write(session(2), words("second"))
    world.poll()
    place.send(world)
    put_back(world, copy)
    (world.root / session(2)).unlink()
    world.write(session(3), words("third"))
    host = current_host(world.connection)
    world.poll()
    [note] = place.send(world)
    assert "under a new name" in note and current_host(world.connection) != host
    assert place.missing("first", "second", "third") == []
    assert max(Counter(place.raw()).values()) == 1
    assert place.send(world) == [] and world.connection.execute("SELECT parent FROM epoch").get == host


def test_two_copies_of_an_archive_lose_nothing(world: World, place: Place, tmp_path: Path) -> None:
    place.send(world)
    other = World()
    try:
        put_back(other, copy_archive(world, tmp_path / "copy.db"))
        for turn in range(3):
            for number, each in enumerate((world, other)):
                each.append(session(4 + number), words(f"turn {turn} of {number}"))
                each.poll()
                place.send(each)
        assert place.missing("first", *(f"turn {turn} of {number}" for turn in range(3) for number in range(2))) == []
        assert max(Counter(place.raw()).values()) == 1
        assert current_host(world.connection) != current_host(other.connection)
    finally:
        other.close()


def test_a_store_that_was_created_again_is_filled_again(world: World, place: Place) -> None:
    place.send(world)
    before = sorted(place.raw())
    place.lose()
    [note] = place.send(world)
    assert "everything is sent again" in note and sorted(place.raw()) == before
    assert place.send(world) == []


def test_a_store_that_was_filled_again_by_a_copy_has_the_lines_of_both(
    world: World, place: Place, tmp_path: Path
) -> None:
    place.send(world)
    other = World()
    try:
        put_back(other, copy_archive(world, tmp_path / "copy.db"))
        world.write(session(2), words("second"))
        world.poll()
        place.send(world)
        other.write(session(3), words("third", 60))
        other.poll()
        place.lose()
        place.send(other)
        place.send(world)
        assert place.missing("first", "second", "third") == []
    finally:
        other.close()


def test_a_lost_acknowledgement_sends_nothing_twice(world: World, place: Place) -> None:
    place.send(world)
    row: Any = world.connection.execute("SELECT * FROM sink WHERE name NOT LIKE '%#facts'").fetchall()[0]
    world.append(session(1), words("more"))
    world.poll()
    place.send(world)
    world.connection.execute("DELETE FROM sink WHERE name = ?", (row[0],))
    world.connection.execute("INSERT INTO sink VALUES(?, ?, ?, ?, ?, ?)", row)
    assert place.send(world) == []
    assert len(place.raw()) == 40 and place.missing("first", "more") == []
    assert world.connection.execute("SELECT count(*) FROM epoch").get == 0


def test_a_store_that_was_put_back_gets_what_it_lacks(world: World, tmp_path: Path) -> None:
    place = DeltaLake(tmp_path / "lake")
    place.send(world)
    shutil.copytree(place.folder, tmp_path / "kept")
    world.append(session(1), words("more"))
    world.poll()
    place.send(world)
    shutil.rmtree(place.folder)
    shutil.copytree(tmp_path / "kept", place.folder)
    [note] = place.send(world)
    assert "what it lacks is sent again" in note
    assert len(place.raw()) == 40 and place.missing("first", "more") == []


def test_sending_again_adds_only_what_is_missing(world: World, place: Place) -> None:
    place.send(world)
    name = world.connection.execute("SELECT name FROM sink WHERE name NOT LIKE '%#facts'").get
    SequenceCursor(world.connection, str(name)).resend()
    assert place.send(world) == [] and len(place.raw()) == 20
    world.append(session(1), words("more"))
    world.poll()
    assert place.send(world) == [] and len(place.raw()) == 40


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_files_keep_the_lines_of_both_histories(world: World, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out.jsonl" if kind == "jsonl" else tmp_path / "out"
    copy = copy_archive(world, tmp_path / "copy.db")

    def send() -> None:
        sink = JsonLines(str(target)) if kind == "jsonl" else ParquetFiles(str(target))
        outcome = Delivery(sink, SequenceCursor(world.connection, sink.name), world.connection, Policy()).run(0.0)
        assert outcome and outcome.sent and not outcome.error

    world.write(session(2), words("second"))
    world.poll()
    send()
    put_back(world, copy)
    (world.root / session(2)).unlink()
    world.write(session(3), words("third"))
    world.poll()
    send()
    if kind == "jsonl":
        have = target.read_text()
    else:
        from pyarrow import parquet

        rows = [row for file in target.glob("*.parquet") for row in parquet.read_table(file).column("raw").to_pylist()]
        have = b"\n".join(rows).decode()
    assert all(f"{name} {n}" in have for name in ("first", "second", "third") for n in range(20))
