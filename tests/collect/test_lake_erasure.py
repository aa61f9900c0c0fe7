"""Erasure and retention of a lake: gone from every byte of its files, and not added again by any writer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.fs
import pyarrow.parquet
import pytest

from clew.cli import main
from clew.collect.config import SinkConfig
from clew.collect.identity import Owner, save_owner
from clew.collect.job import CollectJob, open_collector
from clew.collect.masking import Policy
from clew.collect.sinks.address import deliveries
from clew.collect.sinks.lake.delta_tables import TABLE_NAMES, Lake
from clew.collect.sinks.lake.lake_erasure import LakeMaintenance
from clew.collect.sinks.lake.lake_rules import LAKE_VERSION
from clew.collect.sinks.lake.sink import LakeFacts, LakeLines
from clew.collect.sinks.outbox import Delivery, DeliveryOutcome, SequenceCursor
from clew.collect.sinks.paced_cursors import PacedFactCursor, PacedLineCursor
from clew.collect.sql.open_store import open_engine
from clew.errors import StoreError
from clew.facts.prices import load
from tests.collect import lake_version_1
from tests.collect.collect_fixture import World, session
from tests.collect.engines import answer
from tests.collect.s3 import KEY, S3
from tests.collect.s3 import SECRET as S3_SECRET
from tests.collect.test_store_versions import frozen_rows
from tests.collect.test_tables import said

Run = Callable[..., tuple[int, str, str]]
SHOP, GARDEN = "projects/-home-ada-shop", "projects/-home-ada-garden"
SECRET = "Tulip-Rhapsody-77"
TODAY = datetime.now(UTC).date()


@pytest.fixture
def worlds() -> Iterator[dict[str, World]]:
    made = {name: World() for name in ("ada", "ben")}
    yield made
    for world in made.values():
        world.close()


@pytest.fixture
def clew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))

    def typed(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--to", f"delta:{tmp_path / 'lake'}"])
        return code, *capsys.readouterr()

    return typed


def send(world: World, folder: Path, user: str, *, again: bool = False) -> list[DeliveryOutcome]:
    world.connection.close()
    try:
        with open_collector(CollectJob(str(world.root), world.path)) as collector:
            save_owner(collector.connection, Owner(f"{user}@example.com", f"{user}-laptop", "team"))
            with deliveries(collector, [SinkConfig(f"delta:{folder / 'lake'}")]) as waiting:
                collector.poll()
                if again:
                    SequenceCursor(collector.connection, waiting[0].sink.name).resend()
                outcomes = [delivery.run(0.0) for delivery in waiting]
    finally:
        world.connection = world.open()
    assert all(each is not None and each.error is None and not each.rejected for each in outcomes)
    return [each for each in outcomes if each is not None]


def fill(worlds: dict[str, World], folder: Path) -> None:
    for number, (user, world) in enumerate(worlds.items()):
        world.write(session(1, SHOP), said(100 * number, f"{user} asks about {SECRET}") + said(100 * number + 1))
        world.write(session(2, GARDEN), said(100 * number + 10, f"{user} waters"))
        history = {"display": f"{user} waters", "timestamp": 1_780_000_000_000, "project": "/home/ada/garden"}
        world.write("history.jsonl", json.dumps(history).encode() + b"\n")
        send(world, folder, user)


def everything(folder: Path) -> bytes:
    """Every byte of the lake: its log as it is, and its files unpacked, also those that no version names any more."""
    parts = []
    for path in sorted((folder / "lake").rglob("*")):
        if path.is_file():
            parts.append(path.read_bytes())
            if path.suffix == ".parquet":
                parts.append(repr(pyarrow.parquet.ParquetFile(path).read().to_pylist()).encode())
    return b"".join(parts)


def ask(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with open_engine(f"delta:{folder / 'lake'}") as engine:
        return answer(engine, query)[1]


def lines(folder: Path) -> list[dict[str, Any]]:
    table = Lake(f"delta:{folder / 'lake'}", "", {}).table("line")
    return list(table.to_pyarrow_table().to_pylist())


def test_a_text_is_in_no_byte_and_does_not_come_back(worlds: dict[str, World], tmp_path: Path, clew: Run) -> None:
    fill(worlds, tmp_path)
    assert everything(tmp_path).count(SECRET.encode()) > 2
    code, out, err = clew("collect", "erase", "--text", SECRET, "--dry-run", "--json")
    assert code == 0, err
    assert (code, json.loads(out)["tables"]) == (
        0,
        {name: {"deleted": 0, "changed": 2} for name in ("line", "fact_file", "fact_turn")},
    )
    code, out, _ = clew("collect", "erase", "--text", SECRET, "--yes", "--now")
    assert (code, "6 rows erased" in out) == (0, True)
    assert SECRET.encode() not in everything(tmp_path)
    query = "SELECT prompt FROM turns WHERE turn = 1 AND project LIKE '%shop' ORDER BY 1"
    assert ask(tmp_path, query) == [("ada asks about [ERASED]",), ("ben asks about [ERASED]",)]
    assert len(lines(tmp_path)) == 14
    worlds["ada"].append(session(1, SHOP), said(2))
    for user, world in worlds.items():
        send(world, tmp_path, user)
        send(world, tmp_path, user, again=True)
        world.connection.execute("DELETE FROM sink")
        send(world, tmp_path, user)
    assert clew("collect", "compact")[0] == 0
    assert SECRET.encode() not in everything(tmp_path)
    assert sum(b"[ERASED]" in (row["raw"] or b"") for row in lines(tmp_path)) == 2
    assert ask(tmp_path, "SELECT count(*) FROM turns WHERE host <> ''")[0][0] == 7


def test_a_person_is_gone_and_stays_gone(worlds: dict[str, World], tmp_path: Path, clew: Run) -> None:
    fill(worlds, tmp_path)
    code, out, _ = clew("collect", "erase", "--developer", "ada@example.com", "--yes", "--now", "--json")
    tables = json.loads(out)["tables"]
    assert (code, {name: rows["deleted"] for name, rows in tables.items()}) == (
        0,
        {"line": 7, "fact_file": 2, "fact_turn": 3, "fact_reply": 3},
    )
    world = worlds["ada"]
    world.write(session(3, GARDEN), said(12, "ada digs"))
    send(world, tmp_path, "ada")
    send(world, tmp_path, "ada", again=True)
    send(worlds["ben"], tmp_path, "ben", again=True)
    stored = everything(tmp_path)
    for word in (b"ada@example.com", b"ada asks", b"ada waters", b"ada-laptop", b"ada digs"):
        assert word not in stored
    assert len(lines(tmp_path)) == 7 and ask(tmp_path, "SELECT count(*) FROM turns") == [(3,)]


def test_a_project_and_a_session_are_gone(worlds: dict[str, World], tmp_path: Path, clew: Run) -> None:
    fill(worlds, tmp_path)
    assert clew("collect", "erase", "--project", "garden", "--yes", "--now")[0] == 0
    for user, world in worlds.items():
        send(world, tmp_path, user, again=True)
    assert b"waters" not in everything(tmp_path) and SECRET.encode() in everything(tmp_path)
    assert clew("collect", "erase", "3f2a0c5e-0000-4000-8000-000000000001", "--yes", "--now")[0] == 0
    assert SECRET.encode() not in everything(tmp_path)
    code, _, err = clew("collect", "erase", "--project", "attic", "--yes")
    assert code != 0 and "attic" in err


def test_a_writer_that_does_not_know_the_rules_is_cleaned_up_after(
    worlds: dict[str, World], tmp_path: Path, clew: Run
) -> None:
    """clew 0.1.0 appends without reading the rules; compact deletes what they block."""
    fill(worlds, tmp_path)
    lake = Lake(f"delta:{tmp_path / 'lake'}", "", {})
    before = {name: lake.table(name).to_pyarrow_table() for name in TABLE_NAMES}
    assert clew("collect", "erase", "--project", "garden", "--yes")[0] == 0
    from deltalake import write_deltalake

    for name, rows in before.items():
        write_deltalake(
            lake.uri(name), rows.filter(pyarrow.compute.field("project") == "-home-ada-garden"), mode="append"
        )
    assert any(b"waters" in row["raw"] for row in lines(tmp_path))
    assert clew("collect", "compact")[0] == 0
    assert not any(b"waters" in row["raw"] for row in lines(tmp_path))
    assert ask(tmp_path, "SELECT count(*) FROM sessions") == [(2,)]


def at(data: bytes, age: int) -> bytes:
    return data.replace(b"2026-05-01", (TODAY - timedelta(days=age)).isoformat().encode())


def test_retention_of_lines_and_facts(worlds: dict[str, World], tmp_path: Path, clew: Run) -> None:
    world = worlds["ada"]
    world.write(session(1), at(said(0, "an old prompt"), 100) + b'{"type":"summary","summary":"an old title"}\n')
    world.write(session(2), at(said(10), 100) + at(said(11), 1))
    send(world, tmp_path, "ada")
    code, out, _ = clew("collect", "retain", "--lines", "90d", "--facts", "400d", "--dry-run", "--json")
    assert (code, json.loads(out)["tables"]) == (0, {"line": {"dropped": 5, "days": 0}})
    assert len(lines(tmp_path)) == 7
    assert clew("collect", "retain", "--lines", "90d", "--facts", "400d")[0] == 0
    assert len(lines(tmp_path)) == 2 and ask(tmp_path, "SELECT count(*) FROM turns") == [(3,)]
    assert clew("collect", "retain", "--facts", "90d")[0] == 0
    assert ask(tmp_path, "SELECT count(*) FROM turns") == [(1,)]
    send(world, tmp_path, "ada", again=True)
    assert len(lines(tmp_path)) == 2 and ask(tmp_path, "SELECT count(*) FROM turns") == [(1,)]
    world.append(session(1), at(said(1), 0))
    world.append(session(2), at(said(12), 0))
    outcome = send(world, tmp_path, "ada")[0]
    assert (outcome.sent, outcome.retention) == (4, "keeps lines 90 days and facts 90 days")
    assert len(lines(tmp_path)) == 6
    assert ask(tmp_path, "SELECT session, count(*) FROM turns GROUP BY 1 ORDER BY 1") == [
        ("3f2a0c5e-0000-4000-8000-000000000001", 1),
        ("3f2a0c5e-0000-4000-8000-000000000002", 2),
    ]
    assert clew("collect", "retain")[0] == 0
    assert len(lines(tmp_path)) == 6


def test_a_lake_has_a_version_and_ends_the_support_of_old_writers(worlds: dict[str, World], tmp_path: Path) -> None:
    world = worlds["ada"]
    world.write(session(1), said(0))
    send(world, tmp_path, "ada")
    lake = Lake(f"delta:{tmp_path / 'lake'}", "", {})
    assert lake.rules().values == {"version": str(LAKE_VERSION), "oldest_writer": "1"}
    lake.add_rules({"oldest_writer": str(LAKE_VERSION + 1)}, ())
    with pytest.raises(StoreError, match="accepts version") as caught:
        lake.probe()
    assert caught.value.kind == "version" and "Update clew" in caught.value.hint


# -- versions


def test_a_lake_of_the_first_release_is_written_to_asked_and_erased_from(
    worlds: dict[str, World], tmp_path: Path, clew: Run
) -> None:
    """Its rows lack columns; none of them is lost when others are replaced or deleted."""
    for number, world in enumerate(worlds.values()):
        world.write(session(1, SHOP), said(100 * number, f"about {SECRET}") + said(100 * number + 1))
        world.write(session(2, GARDEN), said(100 * number + 10, "waters"))
    old, new = worlds.values()
    old.poll()
    rows, facts = frozen_rows(old)
    lake_version_1.write(str(tmp_path / "lake"), old.archive.host, rows, facts, 1)
    assert Lake(f"delta:{tmp_path / 'lake'}", "", {}).rules().values == {}
    send(new, tmp_path, "ben")
    assert ask(tmp_path, "SELECT count(*), count(DISTINCT host) FROM turns") == [(6, 2)]
    assert clew("collect", "erase", "--text", SECRET, "--yes", "--now")[0] == 0
    assert ask(tmp_path, "SELECT count(*), count(DISTINCT host) FROM turns") == [(6, 2)]
    assert len(lines(tmp_path)) == 12 and SECRET.encode() not in everything(tmp_path)
    assert clew("collect", "erase", "--developer", "ben@example.com", "--yes")[0] == 0
    assert ask(tmp_path, "SELECT count(*), count(DISTINCT host) FROM turns") == [(3, 1)]
    assert clew("collect", "erase", "--project", "garden", "--yes")[0] == 0
    assert ask(tmp_path, "SELECT count(*) FROM turns") == [(2,)]


def test_a_host_of_the_first_release_writes_to_a_new_lake(worlds: dict[str, World], tmp_path: Path, clew: Run) -> None:
    old, new = worlds.values()
    for number, world in enumerate(worlds.values()):
        world.write(session(1, SHOP), said(100 * number) + said(100 * number + 1))
    old.poll()
    send(new, tmp_path, "ben")
    lake_version_1.write(str(tmp_path / "lake"), old.archive.host, *frozen_rows(old), 1)
    assert ask(tmp_path, "SELECT count(*), count(DISTINCT host) FROM turns") == [(4, 2)]
    assert clew("collect", "compact")[0] == 0
    new.append(session(1, SHOP), said(102))
    send(new, tmp_path, "ben")
    assert ask(tmp_path, "SELECT count(*), count(DISTINCT host) FROM turns") == [(5, 2)]


# -- a bucket


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    made = S3()
    try:
        yield made
    finally:
        made.close()


def test_a_text_is_gone_from_every_object_of_a_bucket(worlds: dict[str, World], s3: S3) -> None:
    world = worlds["ada"]
    world.write(session(1, SHOP), said(0, f"about {SECRET}") + said(1))
    world.poll()
    lake = Lake(s3.address("erased"), "", s3.environment)
    lines, facts = LakeLines(lake), LakeFacts(lake)
    cursors = PacedLineCursor(world.connection, lines.name), PacedFactCursor(world.connection, facts.name, load())
    for outcome in (
        Delivery(lines, cursors[0], world.connection, Policy()).run(0.0),
        Delivery(facts, cursors[1], world.connection, Policy()).run(0.0),
    ):
        assert outcome is not None and outcome.error is None and outcome.sent
    assert SECRET.encode() in objects(s3, "lake/erased")
    maintenance = LakeMaintenance(lake)
    erasure = maintenance.find("", "", "", "", SECRET)
    assert maintenance.erase(erasure, dry_run=False).total == 3
    assert SECRET.encode() in objects(s3, "lake/erased")  # in earlier versions
    maintenance.scrub(now=True)
    assert SECRET.encode() not in objects(s3, "lake/erased")
    assert len(lake.table("line").to_pyarrow_table()) == 4


def objects(s3: S3, folder: str) -> bytes:
    """Every byte of the objects of a folder, Parquet unpacked."""
    endpoint = s3.endpoint.removeprefix("http://")
    bucket = pyarrow.fs.S3FileSystem(access_key=KEY, secret_key=S3_SECRET, endpoint_override=endpoint, scheme="http")
    parts = []
    for info in bucket.get_file_info(pyarrow.fs.FileSelector(folder, recursive=True)):
        if info.is_file:
            parts.append(bucket.open_input_stream(info.path).read())
            if info.extension == "parquet":
                parts.append(repr(pyarrow.parquet.read_table(info.path, filesystem=bucket).to_pylist()).encode())
    return b"".join(parts)
