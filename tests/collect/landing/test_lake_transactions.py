"""The transactions of a lake table are read from its log as delta-rs reads them."""

from __future__ import annotations

from pathlib import Path

from clew.collect.landing.lake_transactions import TransactionLog
from clew.collect.sinks.lake.delta_tables import Lake, arrow_schema


def test_transactions_are_those_of_the_library_before_and_after_a_checkpoint(tmp_path: Path) -> None:
    lake = Lake(f"delta:{tmp_path / 'lake'}", "", {})
    rows = arrow_schema("line").empty_table()
    hosts = [f"clew-host{number}" for number in range(5)]
    followed = TransactionLog(lake, "line")
    for commit in range(45):
        lake.add("line", rows, [(hosts[commit % 4], commit), (f"clew-mark-{commit % 4}", 1 << 62)])
        table = lake.table("line")
        expected = {host: table.transaction_version(host) for host in hosts}
        assert {host: followed.read(table).get(host) for host in hosts} == expected
        if commit % 6 == 0:
            assert TransactionLog(lake, "line").read(table) == followed.read(table)
    table.cleanup_metadata()
    assert TransactionLog(lake, "line").read(table)["clew-mark-3"] == 1 << 62
    assert len(list((tmp_path / "lake/line/_delta_log").glob("*.checkpoint.parquet"))) >= 2
