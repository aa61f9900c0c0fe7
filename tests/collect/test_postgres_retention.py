"""Retention of a PostgreSQL store: what is old is dropped under running senders, and neither lost nor sent again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clew.cli import main
from clew.collect.config import SinkConfig
from clew.collect.job import CollectJob, open_collector
from clew.collect.retention import Retention, parse_age
from clew.collect.sinks.address import deliveries
from clew.collect.sinks.outbox import SequenceCursor
from clew.errors import Refused
from tests.collect.collect_fixture import World, session
from tests.collect.postgres import PASSWORD, Store
from tests.collect.test_postgres_erasure import Run, clew, count, send
from tests.collect.test_tables import said

__all__ = ["clew"]  # a fixture
TODAY = datetime.now(UTC).date()


def at(data: bytes, age: int) -> bytes:
    """Lines of some days ago."""
    return data.replace(b"2026-05-01", (TODAY - timedelta(days=age)).isoformat().encode())


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def fill(world: World, store: Store) -> None:
    """A session that ended 100 days ago, one that began then and goes on, and one of today."""
    summary = b'{"type":"summary","summary":"an old title"}\n'
    world.write(session(1), at(said(0), 100) + summary)
    world.write(session(2), at(said(10), 100) + at(said(11), 1))
    world.write(session(3), at(said(20), 0) + summary.replace(b"old", b"new"))
    send(world, store, "ada")


def test_lines_and_facts_have_ages_of_their_own(world: World, store: Store, clew: Run) -> None:
    fill(world, store)
    assert (count(store, "line"), count(store, "fact_turn"), count(store, "fact_file")) == (10, 4, 3)
    code, out, _ = clew("collect", "retain", "--lines", "90d", "--facts", "400d", "--dry-run", "--json")
    assert (code, json.loads(out)["tables"]) == (
        0,
        {"line": {"dropped": 4, "days": 1}, "line_undated": {"dropped": 1, "days": 0}},
    )
    assert count(store, "line") == 10 and count(store, "about", "name LIKE 'retain%'") == 0
    code, out, _ = clew("collect", "retain", "--lines", "90d", "--facts", "400d")
    assert code == 0 and "keeps lines 90 days and facts 400 days" in out
    assert (count(store, "line"), count(store, "fact_turn"), count(store, "fact_file")) == (5, 4, 3)
    assert clew("collect", "retain", "--facts", "90d")[0] == 0
    assert (count(store, "line"), count(store, "fact_turn"), count(store, "fact_file")) == (5, 2, 2)
    assert store.ask("SELECT count(*) FROM clew.turns WHERE session LIKE '%2'") == [(1,)]
    assert send(world, store, "ada")[0].retention == "keeps lines 90 days and facts 90 days"


def test_nothing_that_was_dropped_is_sent_again(world: World, store: Store, clew: Run) -> None:
    fill(world, store)
    assert clew("collect", "retain", "--lines", "90d", "--facts", "90d")[0] == 0
    kept = (count(store, "line"), count(store, "fact_turn"), count(store, "fact_file"))
    for _ in range(2):
        lines, facts = send(world, store, "ada", again=True)
        assert (lines.sent, lines.rejected, facts.rejected) == (10, 0, 0)
        assert (count(store, "line"), count(store, "fact_turn"), count(store, "fact_file")) == kept
    world.append(session(1), at(said(1), 0))  # the old session is resumed
    world.append(session(2), at(said(12), 0))
    send(world, store, "ada")
    assert store.ask("SELECT session, count(*) FROM clew.turns GROUP BY 1 ORDER BY 1") == [
        (f"3f2a0c5e-0000-4000-8000-00000000000{number}", turns) for number, turns in ((1, 1), (2, 2), (3, 1))
    ]
    assert count(store, "line") == kept[0] + 4
    clew("collect", "retain")
    assert count(store, "line") == kept[0] + 4


def test_a_new_host_with_old_sessions_loses_nothing_that_is_kept(world: World, store: Store, clew: Run) -> None:
    assert clew("collect", "retain", "--lines", "90d", "--facts", "90d")[0] == 0
    fill(world, store)
    assert count(store, "line", "day <> ''") == 4
    assert count(store, "fact_turn") == 2


def test_days_are_dropped_under_a_running_sender(world: World, store: Store, clew: Run, tmp_path: Path) -> None:
    """The sender knows the days that are dropped. What comes later, of any day that is kept, arrives."""
    (tmp_path / "password").write_text(PASSWORD)
    sink = SinkConfig(store.address("ada"), token_file=str(tmp_path / "password"))
    world.connection.close()
    with open_collector(CollectJob(str(world.root), world.path)) as collector, deliveries(collector, [sink]) as waiting:

        def run() -> list[tuple[int, int, object]]:
            collector.poll()
            outcomes = [delivery.run(1e9) for delivery in waiting]
            return [(each.sent, each.rejected, each.error) for each in outcomes if each is not None]

        world.write(session(1), at(said(0), 100) + at(said(1), 50) + at(said(2), 0))
        assert run() == [(6, 0, None), (1, 0, None)]
        assert clew("collect", "retain", "--lines", "90d")[0] == 0
        assert count(store, "line") == 4
        world.append(session(1), at(said(3), 100) + at(said(4), 50) + at(said(5), 0))
        assert run()[0] == (6, 0, None)
        assert store.ask("SELECT day, count(*) FROM clew.line GROUP BY 1 ORDER BY 1") == [
            ((TODAY - timedelta(days=50)).isoformat(), 4),
            (TODAY.isoformat(), 4),
        ]
        day = (TODAY - timedelta(days=50)).isoformat().replace("-", "_")
        store.ask(f"DROP TABLE clew.line_{day}")  # by hand, a day that is kept
        world.append(session(1), at(said(6), 50))
        assert run()[0] == (2, 0, None)
        assert count(store, "line") == 6
        assert collector.connection.execute("SELECT count(*) FROM rejected").get == 0
        SequenceCursor(collector.connection, waiting[0].sink.name).resend()
        assert run()[0] == (14, 0, None)
        assert count(store, "line") == 10  # the day that was dropped by hand is whole again
    world.connection = world.open()


def test_a_longer_retention_lets_old_rows_in_again(world: World, store: Store, clew: Run) -> None:
    fill(world, store)
    clew("collect", "retain", "--lines", "90d", "--facts", "90d")
    assert clew("collect", "retain", "--lines", "forever", "--facts", "1y")[0] == 0
    send(world, store, "ada", again=True)
    assert (count(store, "line", "day <> ''"), count(store, "fact_turn")) == (8, 4)


def test_a_rule_is_needed_and_ages_are_checked(world: World, store: Store, clew: Run) -> None:
    code, _, err = clew("collect", "retain")
    assert code == 2 and "no retention is set" in err
    for age in ("90", "0d", "-1d", "ninety days", "999999y"):
        assert clew("collect", "retain", f"--lines={age}")[0] == 2
        with pytest.raises(Refused):
            parse_age(age)
    assert Retention().describe() == ""


# -- the archive


def test_an_archive_drops_what_is_gone_and_old_and_delivered(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import os

    old = datetime.now(UTC).timestamp() - 200 * 86_400
    for number in (1, 2, 3):
        os.utime(world.write(session(number), said(number)), (old, old))
    world.poll()
    world.connection.execute("INSERT INTO sink(name, seq) VALUES('file:/out.jsonl', 4)")
    for number in (1, 3):
        (world.root / session(number)).unlink()
    world.poll()
    world.connection.close()
    words = ["collect", "retain", "--archive", world.path]
    assert main([*words, "--lines", "90d", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [session(1)]  # 2 is there, 3 waits for the sink
    assert main([*words, "--lines", "90d"]) == 0
    out = capsys.readouterr().out
    assert "1 file that is gone from the disk, 2 lines, dropped" in out and "keeps lines 90 days" in out
    assert main(["collect", "status", "--archive", world.path]) == 0
    assert "The archive keeps lines 90 days after a file is gone" in capsys.readouterr().out
    world.connection = world.open()
    world.poll()
    assert set(world.kept()) == {session(2), session(3)}
    assert main([*words, "--facts", "90d"]) == 2
