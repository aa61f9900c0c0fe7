"""Deliver lines and facts to a lake."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import and_
from secrets import randbits
from typing import Any

import pyarrow
import pyarrow.compute

from clew.collect.sinks.lake.delta_tables import Lake, arrow_schema, build_table
from clew.collect.sinks.outbox import EPOCH, FACTS
from clew.collect.sinks.record import Record
from clew.collect.sinks.store_check import StoreState
from clew.collect.sql.fact_changes import ROW_TABLES, FactChange, FactState, compare_facts
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable, FileFacts
from clew.collect.sql.line_rows import LINE, build_line_row
from clew.collect.sql.sent_facts import SentFacts, compare_with
from clew.errors import StoreError

FACT_WRITE_ORDER = (*ROW_TABLES, FILE)


def build_line_table(records: Sequence[Record]) -> pyarrow.Table:
    """Build the rows of lines; an empty table without records."""
    if not records:
        return arrow_schema(LINE.name).empty_table()
    rows = [build_line_row(record) for record in records]
    days = [str(row[list(LINE.columns).index("day")]) for row in rows]
    return build_table(LINE.name, rows, days, [record.raw for record in records])


class LakeLines:
    """Accepts records. The last `seq` of each host is stored in the commit itself, so that none is added twice."""

    leaves = True

    def __init__(self, lake: Lake) -> None:
        self.name = lake.name
        self.lake = lake
        self._expected: int | None = None

    @property
    def retention(self) -> str:
        return self.lake.known_rules.retention.describe()

    def write(self, records: Sequence[Record]) -> None:
        host = records[0].host
        if records[-1].mark is None:
            known = self._known_numbers(host, records)
            new = [record for record in records if record.seq not in known]
        else:
            state = self._check_mark(host)
            new = [record for record in records if record.seq > (state.seq if state else 0)]
        if new:
            self.lake.add(LINE.name, build_line_table(new), self._transactions(records[-1]))
            self.lake.merge_small_files(LINE.name)
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

    def has_line(self, host: str, file: int, generation: int, offset: int, hash: str) -> bool:
        names = {"host": host, "file": file, "generation": generation, "start": offset, "hash": hash}
        table = self.lake.existing(LINE.name)
        if table is None:
            return False
        equal = [pyarrow.compute.field(name) == value for name, value in names.items()]
        with self.lake.translate_errors():
            return bool(table.to_pyarrow_dataset().count_rows(filter=reduce(and_, equal)))

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
    """Accepts facts of files; what changed since the last time is appended. The rows of `fact_file` are written last:
    until they exist, no reader sees the others.

    Every commit carries a mark for each host. If a table has another one than `sent` remembers, the lake was put back,
    a writer was killed between two tables, or another archive wrote: then facts are sent completely.
    """

    leaves = True

    def __init__(self, lake: Lake, clock: Callable[[], int] = time.time_ns, sent: SentFacts | None = None) -> None:
        self.name = f"{lake.name}{FACTS}"
        self.lake = lake
        self.clock = clock
        self.sent = sent
        self.next_mark = 0

    def fact_mark(self, host: str) -> int:
        """Return the mark of the last facts of a host, for `fact_check`."""
        table = self.lake.existing(FILE.name)
        with self.lake.translate_errors():
            return (table.transaction_version(f"clew-facts-{host}") or 0) if table else 0

    def newer_files(self, host: str, seq: int) -> list[int]:
        """Return the files of a host whose facts were built from later lines, for `fact_check`."""
        table = self.lake.existing(FILE.name)
        if table is None:
            return []
        later = pyarrow.compute.field("seq") > seq
        with self.lake.translate_errors():
            rows = table.to_pyarrow_dataset().to_table(columns=["host", "file"], filter=later).to_pylist()
        return sorted({row["file"] for row in rows if row["host"] == host})

    def write(self, batch: Sequence[FileFacts]) -> None:
        hosts = sorted({facts.host for facts in batch})
        for host in hosts:
            self._check_marks(host)
        changes = [compare_with(self.sent, facts) for facts in batch]
        versions = [_next_version(change, self.clock() // 1_000_000) for change in changes]
        mark = 1 + randbits(62)
        marks: dict[tuple[str, str], int] = {}
        for table in FACT_WRITE_ORDER:
            rows = [row for pair in zip(changes, versions, strict=True) for row in _change_rows(table, *pair)]
            if rows:
                day = list(table.columns).index("day")
                added = build_table(table.name, rows, [str(row[day]) for row in rows])
                done = [(_mark_name(host), mark) for host in hosts]
                if table is FILE and self.next_mark:
                    done.append((f"clew-facts-{batch[0].host}", self.next_mark))
                self.lake.add(table.name, added, done)
                self.lake.merge_small_files(table.name)
                marks |= {(host, table.name): mark for host in hosts}
        if self.sent:
            self.sent.note(list(zip(changes, versions, strict=True)), marks)

    def _check_marks(self, host: str) -> None:
        """Forget what was sent under a name if the lake has something else."""
        expected = self.sent.marks(host) if self.sent else {}
        if not self.sent or not expected:
            return
        for table in TABLES:
            with self.lake.translate_errors():
                found = self.lake.table(table.name).transaction_version(_mark_name(host))
            if found != expected.get(table.name):
                self.sent.forget_host(host)
                return

    def close(self) -> None:
        """Nothing stays open."""


def _mark_name(host: str) -> str:
    return f"clew-rows-{host}"


def _next_version(change: FactChange, now: int) -> FactState:
    """Return the version of a change: in the chain of its base, or in a new one."""
    base = change.base
    if base is None:
        return change.state._replace(chain=1 + randbits(62), made=now)
    return change.state._replace(chain=base.chain, made=max(now, base.made + 1))


def version_rows(table: FactTable, facts: FileFacts, made: int) -> list[tuple[Any, ...]]:
    """Return all rows of a file as a chain of their own, with the version that they belong to."""
    return list(_change_rows(table, compare_facts(facts, None, {}), FactState(facts.seq, 0, made, made)))


def _change_rows(table: FactTable, change: FactChange, version: FactState) -> Iterator[tuple[Any, ...]]:
    """Yield the rows to append for a change, with their version."""
    if table is FILE:  # which has a column `seq` of its own
        yield from ((*row, version.made, version.chain, 0) for row in change.facts.rows[table.name])
        return
    for row in change.rows[table.name]:
        yield (*row, version.seq, version.made, version.chain, 0)
    for key, day in change.deleted[table.name]:
        values: dict[str, Any] = {
            name: "" if type == "text" else 0 if type == "number" else None for name, type in table.columns.items()
        }
        values |= {"host": change.facts.host, "file": change.facts.file, table.key[-1]: key, "day": day}
        yield (*values.values(), version.seq, version.made, version.chain, 1)
