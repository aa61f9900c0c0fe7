"""Deliver lines and facts to a lake."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow.compute

from clew.collect.sinks.lake.delta_tables import Lake, arrow_schema, build_table
from clew.collect.sinks.outbox import EPOCH
from clew.collect.sinks.record import Record
from clew.collect.sinks.store_check import StoreState
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable, FileFacts
from clew.collect.sql.line_rows import LINE, build_line_row
from clew.errors import StoreError

_WRITE_ORDER = (*(table for table in TABLES if table is not FILE), FILE)


class LakeLines:
    """Accepts records. The last `seq` of each host is stored in the commit itself, so that none is added twice."""

    leaves = True

    def __init__(self, lake: Lake) -> None:
        self.name = lake.name
        self.lake = lake
        self._expected: int | None = None

    def write(self, records: Sequence[Record]) -> None:
        host = records[0].host
        if records[-1].mark is None:
            known = self._known_numbers(host, records)
            new = [record for record in records if record.seq not in known]
        else:
            state = self._check_mark(host)
            new = [record for record in records if record.seq > (state.seq if state else 0)]
        if new:
            rows = [build_line_row(record) for record in new]
            days = [str(row[list(LINE.columns).index("day")]) for row in rows]
            table = build_table(LINE.name, rows, days, [record.raw for record in new])
            self.lake.add(LINE.name, table, self._transactions(records[-1]))
            self._expected = records[-1].mark or self._expected

    def _known_numbers(self, host: str, records: Sequence[Record]) -> set[int]:
        """Return which records are in the lake already."""
        seq = pyarrow.compute.field("seq")
        mine = (pyarrow.compute.field("host") == host) & (seq >= records[0].seq) & (seq <= records[-1].seq)
        with self.lake.translate_errors():
            found = self.lake.table(LINE.name).to_pyarrow_dataset().to_table(columns=["seq"], filter=mine)
        return set(found.column("seq").to_pylist())

    def _check_mark(self, host: str) -> StoreState | None:
        """Return what the lake has of a host. Raises StoreError if it is not what was sent before."""
        state = self._state(self.lake.table(LINE.name), host)
        if self._expected is not None and (state.mark if state else 0) != self._expected:
            self._expected = None
            raise StoreError(f"{self.name} has other records of this archive.", EPOCH, False)
        return state

    def _transactions(self, record: Record) -> list[tuple[str, int]]:
        if record.mark is None:
            return []
        return [(f"clew-{record.host}", record.seq), (f"clew-mark-{record.host}", record.mark)]

    # -- what the store has, for `store_check`

    def store_id(self) -> str:
        table = self.lake.existing(LINE.name)
        return str(table.metadata().id) if table else ""

    def state(self, host: str) -> StoreState | None:
        table = self.lake.existing(LINE.name)
        return self._state(table, host) if table else None

    def _state(self, table: Any, host: str) -> StoreState | None:
        with self.lake.translate_errors():
            seq = table.transaction_version(f"clew-{host}")
            return None if seq is None else StoreState(seq, table.transaction_version(f"clew-mark-{host}") or 0)

    def expect(self, mark: int) -> None:
        self._expected = mark

    def advance(self, record: Record) -> None:
        self._check_mark(record.host)
        self.lake.add(LINE.name, arrow_schema(LINE.name).empty_table(), self._transactions(record))
        self._expected = record.mark

    @property
    def last_mark(self) -> int:
        return self._expected or 0

    def close(self) -> None:
        """Nothing stays open."""


class LakeFacts:
    """Accepts facts of files. The rows of `fact_file` are written last: until they exist, no reader sees the others."""

    leaves = True

    def __init__(self, lake: Lake, clock: Callable[[], int] = time.time_ns) -> None:
        self.name = f"{lake.name}#facts"
        self.lake = lake
        self.clock = clock
        self.next_mark = 0

    def fact_mark(self, host: str) -> int:
        """Return the mark of the last facts of a host, for `fact_check`."""
        table = self.lake.existing(FILE.name)
        with self.lake.translate_errors():
            return (table.transaction_version(f"clew-facts-{host}") or 0) if table else 0

    def write(self, batch: Sequence[FileFacts]) -> None:
        written_ms = self.clock() // 1_000_000
        for table in _WRITE_ORDER:
            rows = [
                (*row, *_version_values(table, facts, written_ms)) for facts in batch for row in facts.rows[table.name]
            ]
            if rows:
                day = list(table.columns).index("day")
                marks = [(f"clew-facts-{batch[0].host}", self.next_mark)] if table is FILE and self.next_mark else []
                self.lake.add(table.name, build_table(table.name, rows, [str(row[day]) for row in rows]), marks)

    def close(self) -> None:
        """Nothing stays open."""


def _version_values(table: FactTable, facts: FileFacts, written_ms: int) -> tuple[int, ...]:
    """Return the version columns of a row; a row of `fact_file` already has its `seq`."""
    return (written_ms,) if table is FILE else (facts.seq, written_ms)
