"""The files of a lake: few and large, merged by themselves; and lakes of the first release stay as they are."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from clew.collect.config import SinkConfig
from clew.collect.job import CollectJob, lock_archive, open_collector
from clew.collect.sinks.address import deliveries
from clew.collect.sinks.lake import delta_tables
from clew.collect.sinks.lake.delta_tables import ON_DAY, TABLE_NAMES, Lake
from clew.collect.sinks.lake.maintenance import compact
from clew.collect.sql.open_store import open_engine
from clew.demo.talk import talk
from clew.demo.tool_inputs import bash

FROZEN = Path(__file__).with_name("lake_version_1.tar.xz")  # written by clew 0.1.0: two sessions on two days
SESSIONS = "SELECT turns, calls, output FROM sessions ORDER BY session"


def send(root: Path, archive: Path, lake: str) -> None:
    job = CollectJob(str(root), str(archive))
    with lock_archive(job), open_collector(job) as collector:
        collector.poll()
        with deliveries(collector, [SinkConfig(lake)]) as waiting:
            for each in waiting:
                outcome = each.run(0.0)
                assert outcome and outcome.error is None, outcome


def say(root: Path, seed: str, turns: int = 3) -> None:
    spoken = talk(seed=seed)
    for number in range(turns):
        spoken = spoken.user(f"{seed} {number}").reply("yes", call=bash("ls")).result("a")
    spoken.write(root)


def ask(lake: str, query: str) -> list[tuple[object, ...]]:
    with open_engine(lake) as engine, engine.run(query) as answer:
        return list(answer.rows)


def count_files(lake: str) -> dict[str, int]:
    """The files of each table that has rows."""
    tables = {name: Lake(lake, "", {}).existing(name) for name in TABLE_NAMES}
    return {name: len(table.file_uris()) for name, table in tables.items() if table and table.file_uris()}


@pytest.fixture
def frozen(tmp_path: Path) -> str:
    with tarfile.open(FROZEN) as packed:
        packed.extractall(tmp_path, filter="data")
    return f"delta:{tmp_path / 'lake'}"


def test_a_lake_of_the_first_release_is_read_written_and_compacted(frozen: str, tmp_path: Path) -> None:
    assert ask(frozen, SESSIONS) == [(3, 3, 138)] * 2
    say(tmp_path / "claude", "new")
    send(tmp_path / "claude", tmp_path / "archive.db", frozen)
    after = ask(frozen, SESSIONS)
    assert len(after) == 3 and len(ask(frozen, "SELECT * FROM turns")) == 9
    compact(Lake(frozen, "", {}), clock=lambda: 2 * 10**18)
    assert ask(frozen, SESSIONS) == after
    table = DeltaTable(Lake(frozen, "", {}).uri("line"))
    assert table.metadata().partition_columns == [ON_DAY]
    assert len(table.to_pyarrow_table()[ON_DAY].unique()) == 2


def test_a_host_of_the_first_release_writes_to_a_new_lake(frozen: str, tmp_path: Path) -> None:
    """It brings the column of the folders, which the rows of others then lack; old versions still go away."""
    new = f"delta:{tmp_path / 'new'}"
    say(tmp_path / "claude", "grows", 2)
    send(tmp_path / "claude", tmp_path / "archive.db", new)
    for name in ("line", "fact_file", "fact_turn", "fact_reply", "fact_call"):
        rows = DeltaTable(Lake(frozen, "", {}).uri(name)).to_pyarrow_table()
        write_deltalake(Lake(new, "", {}).uri(name), rows, mode="append", schema_mode="merge")
    [path] = (tmp_path / "claude").rglob("*.jsonl")
    path.unlink()
    say(tmp_path / "claude", "grows", 3)
    send(tmp_path / "claude", tmp_path / "archive.db", new)
    before = ask(new, SESSIONS)
    assert [row[0] for row in before] == [3, 3, 3]
    compacted = {each.table: each for each in compact(Lake(new, "", {}), clock=lambda: 2 * 10**18)}
    assert compacted["fact_file"].superseded == 1
    assert ask(new, SESSIONS) == before


def test_many_days_in_one_delivery_are_one_file_in_each_table(tmp_path: Path) -> None:
    """In the first release every day had a file of its own in each table."""
    for number in range(12):
        say(tmp_path / "claude", f"day {number}")
    for number, path in enumerate(sorted((tmp_path / "claude").rglob("*.jsonl"))):
        path.write_bytes(path.read_bytes().replace(b"2026-01-05", b"2026-02-%02d" % (number + 1)))
    lake = f"delta:{tmp_path / 'lake'}"
    send(tmp_path / "claude", tmp_path / "archive.db", lake)
    assert len({row[0] for row in ask(lake, "SELECT day FROM turns")}) == 12
    assert count_files(lake) == dict.fromkeys(("line", "fact_file", "fact_turn", "fact_reply", "fact_call"), 1)


def test_small_files_are_merged_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_tables.Lake.merge_small_files, "__defaults__", (4,))
    lake = f"delta:{tmp_path / 'lake'}"
    for number in range(6):
        say(tmp_path / "claude", f"session {number}")
        send(tmp_path / "claude", tmp_path / "archive.db", lake)
    assert max(count_files(lake).values()) <= 4
    assert ask(lake, "SELECT count(*), sum(turns) FROM sessions") == [(6, 18)]


def test_a_query_of_a_day_skips_files_of_other_days(tmp_path: Path) -> None:
    lake = f"delta:{tmp_path / 'lake'}"
    for day in (b"2026-02-03", b"2026-03-04"):
        say(tmp_path / "claude", day.decode())
        [path] = [path for path in (tmp_path / "claude").rglob("*.jsonl") if b"2026-01-05" in path.read_bytes()]
        path.write_bytes(path.read_bytes().replace(b"2026-01-05", day))
        send(tmp_path / "claude", tmp_path / "archive.db", lake)
    files = DeltaTable(Lake(lake, "", {}).uri("fact_turn")).to_pyarrow_dataset()
    import pyarrow.compute

    wanted = list(files.get_fragments(filter=pyarrow.compute.field("day") == "2026-02-03"))
    assert (len(wanted), len(list(files.get_fragments()))) == (1, 2)
