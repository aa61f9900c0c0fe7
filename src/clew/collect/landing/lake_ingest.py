"""Commit objects of a landing zone to a lake.

Each table keeps, in the commits themselves, which object of a host it has last. Facts come first and lines last: a host
is as far as its lines say, and after a crash each table continues where it is. A commit of which another ingester has
committed a part is refused by the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.compute
from deltalake import DeltaTable

from clew.collect.landing.ingest_store import StreamObject, last_states
from clew.collect.landing.lake_transactions import TransactionLog
from clew.collect.sinks.lake.delta_tables import TABLE_NAMES, Lake, build_table
from clew.collect.sinks.lake.sink import FACT_WRITE_ORDER, build_line_table, version_rows
from clew.collect.sinks.outbox import EPOCH
from clew.collect.sinks.record import Record
from clew.collect.sinks.store_check import StoreState
from clew.collect.sql.fact_tables import FactTable
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError


class LakeIngest:
    """Appends to the tables of a lake."""

    def __init__(self, lake: Lake) -> None:
        self.name = lake.name
        self.lake = lake
        self._logs = {name: TransactionLog(lake, name) for name in TABLE_NAMES}

    def states(self, hosts: Iterable[str]) -> dict[str, StoreState]:
        return self._states(self.lake.table(LINE.name), hosts)

    def _states(self, table: DeltaTable, hosts: Iterable[str]) -> dict[str, StoreState]:
        known = self._logs[LINE.name].read(table)
        return {
            host: StoreState(known[f"clew-{host}"], known.get(f"clew-mark-{host}", 0))
            for host in hosts
            if f"clew-{host}" in known
        }

    def has_records(self, host: str, records: Sequence[Record]) -> bool:
        return {(record.seq, record.hash) for record in records} <= self._known(host, records)

    def _known(self, host: str, records: Sequence[Record]) -> set[tuple[int, str]]:
        """Return the numbers and the hashes of the lines of a host that have the numbers of these records."""
        field = pyarrow.compute.field
        wanted = (field("host") == host) & field("seq").isin([record.seq for record in records])
        with self.lake.translate_errors():
            found = self.lake.table(LINE.name).to_pyarrow_dataset().to_table(columns=["seq", "hash"], filter=wanted)
        return {(row["seq"], row["hash"]) for row in found.to_pylist()}

    def commit(self, batch: Sequence[StreamObject], before: dict[str, StoreState]) -> None:
        for table in FACT_WRITE_ORDER:
            self._add_facts(table, [each for each in batch if each.content and each.content.facts])
        after = last_states(batch, before)
        known = {number for each in batch if each.content and each.content.is_again for number in self._again(each)}
        lines = self.lake.table(LINE.name)
        if self._states(lines, after) != {host: state for host, state in before.items() if host in after}:
            raise StoreError(f"{self.name} is being filled by another ingester.", EPOCH, True)
        records = [record for each in batch for record in each.records if (record.host, record.seq) not in known]
        transactions = [
            pair
            for host, state in after.items()
            for pair in ((f"clew-{host}", state.seq), (f"clew-mark-{host}", state.mark))
        ]
        self.lake.append(lines, build_line_table(records), transactions)

    def _again(self, each: StreamObject) -> list[tuple[str, int]]:
        return [(each.host, number) for number, _ in self._known(each.host, each.records)]

    def _add_facts(self, table: FactTable, batch: Sequence[StreamObject]) -> None:
        target = self.lake.table(table.name)
        numbers = self._logs[table.name].read(target)
        versions: dict[tuple[str, int], list[tuple[Any, ...]]] = {}  # by file: only the newest is needed
        last: dict[str, int] = {}
        for each in batch:
            if each.content and each.name.number > numbers.get(f"clew-{each.host}", 0):
                last[each.host] = each.name.number
                for facts in each.facts:
                    versions[each.host, facts.file] = version_rows(table, facts, each.content.made)
        if rows := [row for version in versions.values() for row in version]:
            day = list(table.columns).index("day")
            built = build_table(table.name, rows, [str(row[day]) for row in rows])
            self.lake.append(target, built, [(f"clew-{host}", number) for host, number in last.items()])

    def tidy(self) -> None:
        """Compact the lake if a table has many small files."""
        merged = [self.lake.merge_small_files(name) for name in TABLE_NAMES]
        if any(merged):
            from clew.collect.sinks.lake.maintenance import compact  # loads DuckDB

            compact(self.lake)

    def close(self) -> None:
        """Nothing stays open."""
