"""A lake on a real S3 server and on a disk: no commit is lost, nothing is there twice, and every reader sees the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from shutil import rmtree

import pyarrow
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import dataset, parquet

from clew.collect.masking import Policy
from clew.collect.sinks.lake.delta_tables import TABLE_NAMES, Lake
from clew.collect.sinks.lake.duckdb_engine import DuckEngine
from clew.collect.sinks.lake.maintenance import compact
from clew.collect.sinks.lake.sink import LakeFacts, LakeLines
from clew.collect.sinks.outbox import Delivery, DeliveryOutcome, SequenceCursor
from clew.collect.sinks.paced_cursors import COMMIT_INTERVAL, PacedFactCursor, PacedLineCursor
from clew.collect.sinks.parquet import ParquetFiles
from clew.collect.sql.sent_facts import SentFacts
from clew.demo.demo_tree import write_demo
from clew.errors import BadQuery, StoreError
from clew.facts.prices import load
from tests.collect.collect_fixture import KEY, SESSION, World, session
from tests.collect.engines import answer, queries, sqlite
from tests.collect.lake_writer import LINES, line
from tests.collect.s3 import KEY as ACCESS
from tests.collect.s3 import S3

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SECRET = "sk-ant-api03-" + "Zx9" * 31 + "AA"
HOSTS, COMMITS = 4, 5


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    made = S3()
    yield made
    made.close()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.fixture
def lake(world: World) -> Lake:
    return Lake(f"delta:{world.folder}/lake", "", {})


def send(world: World, lake: Lake, policy: Policy | None = None, clock: int = 10**18) -> list[DeliveryOutcome]:
    lines, facts = (
        LakeLines(lake),
        LakeFacts(lake, lambda: clock, SentFacts.beside(world.connection, f"{lake.name}#facts")),
    )
    cursors = PacedLineCursor(world.connection, lines.name), PacedFactCursor(world.connection, facts.name, load())
    kept = policy or Policy(KEY)
    sent = Delivery(lines, cursors[0], world.connection, kept).run(0.0)
    made = Delivery(facts, cursors[1], world.connection, kept).run(0.0)
    assert sent and made
    return [sent, made]


def count(lake: Lake, name: str) -> int:
    return int(DeltaTable(lake.uri(name), storage_options=lake.options).to_pyarrow_dataset().count_rows())


def ask(lake: Lake, query: str) -> list[tuple[object, ...]]:
    engine = DuckEngine(lake)
    try:
        return answer(engine, query)[1]
    finally:
        engine.close()


def write_tree(world: World) -> None:
    rmtree(world.root)
    write_demo(world.root, NOW)
    world.poll()


def grow(world: World, first: int, last: int) -> None:
    world.append(session(1), b"".join(line("host1", n) for n in range(first, last)))
    world.poll()


# -- many hosts


def host(s3: S3, folder: Path, name: str, lake: str, commits: int = COMMITS) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.collect.lake_writer",
        str(folder / name),
        s3.address(lake),
        name,
        str(commits),
    ]
    environment = {**os.environ, **s3.environment, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_hosts_that_write_at_once_lose_no_commit(s3: S3, tmp_path: Path) -> None:
    hosts = [host(s3, tmp_path, f"host{n}", "many") for n in range(HOSTS)]
    for each in hosts:
        said, failure = each.communicate(timeout=240)
        assert (each.returncode, said.split()) == (0, [str(n) for n in range(COMMITS)]), failure
    lake = Lake(s3.address("many"), "", s3.environment)
    lines = DeltaTable(lake.uri("line"), storage_options=lake.options).to_pyarrow_table()
    expected = sorted(line(f"host{n}", i)[:-1] for n in range(HOSTS) for i in range(COMMITS * LINES))
    assert sorted(lines["raw"].to_pylist()) == expected
    assert ask(lake, "SELECT session, lines FROM sessions ORDER BY session") == [
        (SESSION.format(n), COMMITS * LINES) for n in range(HOSTS)
    ]


def test_a_host_that_is_killed_leaves_a_lake_that_can_be_read(s3: S3, tmp_path: Path) -> None:
    chance, lake = Random(5), Lake(s3.address("killed"), "", s3.environment)
    for _ in range(3):
        running = host(s3, tmp_path, "host1", "killed", 50)
        assert running.stdout is not None
        for _ in range(chance.randrange(1, 4)):
            running.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):  # somewhere inside of the next commit
            running.wait(chance.random() * 0.05)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        assert ask(lake, "SELECT count(*) FROM sessions") == [(1,)]
    with host(s3, tmp_path, "host1", "killed", 12) as last:
        _, failure = last.communicate()
    assert last.returncode == 0, failure
    written = (tmp_path / "host1/claude" / session(1)).read_bytes().splitlines()
    raw = DeltaTable(lake.uri("line"), storage_options=lake.options).to_pyarrow_table()["raw"].to_pylist()
    assert sorted(raw) == sorted(written), "every line is there, and once"
    assert ask(lake, "SELECT lines FROM sessions") == [(len(written),)]


# -- once


def test_what_is_sent_again_is_there_once(world: World, lake: Lake) -> None:
    write_tree(world)
    sent, made = send(world, lake, Policy())
    assert sent.error is None and made.error is None and sent.sent > 1000
    lines = count(lake, "line")
    assert lines == sent.sent
    world.connection.execute("DELETE FROM sink")
    assert send(world, lake, Policy())[1].error is None
    assert count(lake, "line") == lines
    with sqlite(world.connection) as judge:
        for query in queries()[:4]:
            assert ask(lake, query) == answer(judge, query)[1]


def test_a_telling_counts_when_it_is_whole_and_the_newest_one_alone(world: World, lake: Lake) -> None:
    grow(world, 0, 3)
    send(world, lake)
    grow(world, 3, 6)
    facts = LakeFacts(lake)
    [batch] = PacedFactCursor(world.connection, facts.name, load()).batches(Policy())
    half = [each._replace(rows={**each.rows, "fact_file": []}) for each in batch]
    facts.write(half)  # as if it had been killed before the last commit
    assert ask(lake, "SELECT count(*) FROM turns") == [(3,)]
    send(world, lake)
    assert ask(lake, "SELECT count(*) FROM turns") == [(6,)]


def test_a_collector_that_goes_on_commits_now_and_then(world: World, lake: Lake) -> None:
    now = [0.0]
    lines = LakeLines(lake)
    cursor = PacedLineCursor(world.connection, lines.name, clock=lambda: now[0])
    delivery = Delivery(lines, cursor, world.connection, Policy(KEY))
    sent = []
    for number in range(4):
        grow(world, number, number + 1)
        outcome = delivery.run(now[0])
        assert outcome
        sent.append(outcome.sent)
        now[0] += COMMIT_INTERVAL / 2
    assert sent == [1, 0, 2, 0]


# -- care


def test_compaction_takes_away_what_was_superseded_and_changes_no_answer(world: World, s3: S3) -> None:
    lake = Lake(s3.address("care"), "", s3.environment)
    for number in range(6):
        grow(world, number * 3, number * 3 + 3)
        Path(world.path).with_name("facts-sent.db").unlink(missing_ok=True)  # so that all facts are sent completely
        send(world, lake, clock=10**18 + number)
    query = "SELECT * FROM turns ORDER BY turn"
    before = ask(lake, query)
    assert count(lake, "fact_turn") == 3 + 6 + 9 + 12 + 15 + 18
    early = {each.table: each for each in compact(lake, clock=lambda: 10**18)}
    assert early["fact_turn"].superseded == 0, "somebody may still be reading"
    assert early["line"].files_after < early["line"].files_before
    late = {each.table: each for each in compact(lake, hours=0, clock=lambda: 2 * 10**18)}
    assert (late["fact_turn"].superseded, count(lake, "fact_turn")) == (45, 18)
    assert late["fact_file"].superseded == 5 and late["line"].deleted > 0
    assert ask(lake, query) == before
    grow(world, 18, 21)
    send(world, lake)
    assert count(lake, "line") == 21


# -- other versions, and what fails


def test_columns_may_come_and_be_missing(world: World, lake: Lake) -> None:
    """A newer clew adds a column, and an older one did not know `took_ms`: both are read, and both can still write."""
    grow(world, 0, 2)
    send(world, lake)
    table = DeltaTable(lake.uri("fact_turn"))
    rows = table.to_pyarrow_table()
    other = rows.drop_columns(["took_ms"]).append_column("mood", pyarrow.array(["calm"] * len(rows)))
    rmtree(lake.uri("fact_turn"))
    write_deltalake(lake.uri("fact_turn"), other)
    assert ask(lake, "SELECT turn, took_ms, prompt FROM turns ORDER BY turn") == [(1, 0, "host1 0"), (2, 0, "host1 1")]
    grow(world, 2, 3)
    send(world, Lake(f"delta:{world.folder}/lake", "", {}))
    assert len(ask(lake, "SELECT * FROM turns")) == 3
    assert {"mood", "took_ms"} <= {field.name for field in DeltaTable(lake.uri("fact_turn")).schema().fields}


def test_secrets_do_not_reach_a_lake_nor_files(world: World, lake: Lake, tmp_path: Path) -> None:
    said = f'{{"type":"user","uuid":"u","message":{{"role":"user","content":"{SECRET}"}}}}\n'.encode()
    world.write(session(1), said)
    world.poll()
    send(world, lake)
    sink = ParquetFiles(str(tmp_path / "out"))
    Delivery(sink, SequenceCursor(world.connection, sink.name), world.connection, Policy(KEY)).run(0.0)
    files = [*Path(lake.root).rglob("*.parquet"), *(tmp_path / "out").iterdir()]
    values = str([parquet.read_table(file, partitioning=None).to_pylist() for file in files])
    assert len(files) >= 4 and "[REDACTED:anthropic-key:" in values and SECRET[14:40] not in values


def test_a_lake_is_only_read_when_it_is_asked(world: World, lake: Lake) -> None:
    for asked in (
        "DELETE FROM sessions",
        "SELECT 1; SELECT 2",
        "COPY sessions TO 'x'",
        "SELECT * FROM read_csv('/etc/hosts')",
    ):
        with pytest.raises(BadQuery):
            ask(lake, asked)
    assert ask(lake, "SELECT count(*) FROM sessions") == [(0,)], "and one that nobody wrote to is empty"


@pytest.mark.parametrize(
    ("address", "secret", "kind", "retryable"),
    [
        ("s3://lake/x?endpoint={endpoint}", f"{ACCESS}:wrong", "denied", False),
        ("s3://absent/x?endpoint={endpoint}", "", "missing", False),
        ("s3://lake/x?endpoint=http://127.0.0.1:9", "", "unavailable", True),
    ],
)
def test_what_goes_wrong_is_said(world: World, s3: S3, address: str, secret: str, kind: str, retryable: bool) -> None:
    grow(world, 0, 1)
    quick = {**s3.environment, "AWS_MAX_RETRIES": "0", "max_retries": "0"}
    lake = Lake(address.format(endpoint=s3.endpoint), secret, quick)
    sent, _ = send(world, lake)
    assert isinstance(sent.error, StoreError)
    assert (sent.error.kind, sent.error.retryable) == (kind, retryable), str(sent.error)
    assert "wrong" not in str(sent.error) and send(world, Lake(s3.address(kind), "", s3.environment))[0].error is None


# -- Parquet files


def test_a_batch_that_comes_again_takes_the_place_of_its_file(world: World, tmp_path: Path) -> None:
    sink = ParquetFiles(str(tmp_path / "out"))

    def deliver() -> None:
        Delivery(sink, SequenceCursor(world.connection, sink.name), world.connection, Policy(KEY)).run(0.0)

    grow(world, 0, 3)
    deliver()
    world.connection.execute("DELETE FROM sink")  # as if it had been killed before the cursor moved
    grow(world, 3, 5)
    deliver()
    grow(world, 5, 6)
    deliver()
    files = sorted((tmp_path / "out").iterdir())
    rows = dataset.dataset(files).to_table().sort_by("seq")
    assert [row + b"\n" for row in rows["raw"].to_pylist()] == [line("host1", n) for n in range(6)]
    assert len(files) == 2 and all(file.stat().st_mode & 0o777 == 0o600 for file in files)


def test_there_is_a_table_for_lines_and_for_each_fact() -> None:
    assert TABLE_NAMES == ("line", "fact_file", "fact_turn", "fact_reply", "fact_call", "fact_git")
