"""A sink that is a lake: every line once, and what the files amount to.

A commit is dear and leaves a file behind, so a batch is large, and a collector that watches commits only now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import apsw

from clew.collect.masking import Policy
from clew.collect.sinks.lake.delta_tables import Lake, table_of
from clew.collect.sinks.outbox import SequenceCursor
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_rows import changed_since, facts_of
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable, FileFacts
from clew.collect.sql.line_rows import LINE, line_row
from clew.facts.prices import Prices

ROWS, BYTES = 4_000, 32 << 20  # of lines in a commit
EVERY = 600.0  # seconds between two commits of a collector that goes on
_FACTS = 5_000  # rows of facts in a commit
_ORDER = (*(table for table in TABLES if table is not FILE), FILE)


class LakeLines:
    """Takes records. The last one of each host is noted in the commit itself, so that none is taken twice."""

    leaves = True

    def __init__(self, lake: Lake) -> None:
        self.name = lake.name
        self.lake = lake

    def write(self, records: Sequence[Record]) -> None:
        host = f"clew-{records[0].host}"
        with self.lake.explained():
            known = self.lake.table(LINE.name).transaction_version(host) or 0
        new = [each for each in records if each.seq > known]
        if not new:
            return
        rows = [line_row(each) for each in new]
        days = [str(row[list(LINE.columns).index("day")]) for row in rows]
        self.lake.add(LINE.name, table_of(LINE.name, rows, days, [each.raw for each in new]), (host, new[-1].seq))

    def close(self) -> None:
        """Nothing stays open."""


class LakeFacts:
    """Takes what files amount to. The rows of files come last: until they are there, nobody sees the others."""

    leaves = True

    def __init__(self, lake: Lake, clock: Callable[[], int] = time.time_ns) -> None:
        self.name = f"{lake.name}#facts"
        self.lake = lake
        self.clock = clock

    def write(self, batch: Sequence[FileFacts]) -> None:
        made = self.clock() // 1_000_000
        for table in _ORDER:
            rows = [(*row, *_telling(table, facts, made)) for facts in batch for row in facts.rows[table.name]]
            if rows:
                day = list(table.columns).index("day")
                self.lake.add(table.name, table_of(table.name, rows, [str(row[day]) for row in rows]))

    def close(self) -> None:
        """Nothing stays open."""


def _telling(table: FactTable, facts: FileFacts, made: int) -> tuple[int, ...]:
    """Which telling of its file a row is of; the row of a file itself has its `seq` already."""
    return (made,) if table is FILE else (facts.seq, made)


class _Pace:
    """Lets a collector that goes on commit only now and then."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.last: float | None = None

    @property
    def is_due(self) -> bool:
        return self.last is None or self.clock() - self.last >= EVERY

    def note(self) -> None:
        self.last = self.clock()


class LakeLineCursor:
    """The lines that wait, in large batches."""

    def __init__(self, connection: apsw.Connection, sink: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.place = SequenceCursor(connection, sink, ROWS, BYTES)
        self.pace = _Pace(clock)

    def batches(self, policy: Policy) -> Iterator[list[Record]]:
        if self.pace.is_due:
            yield from self.place.batches(policy)

    def accept(self, batch: Sequence[Record]) -> None:
        self.place.accept(batch)
        self.pace.note()


class LakeFactCursor:
    """The facts of all files that have new lines, many files to a batch."""

    def __init__(
        self, connection: apsw.Connection, sink: str, prices: Prices, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.connection = connection
        self.place = SequenceCursor(connection, sink)
        self.prices = prices
        self.pace = _Pace(clock)

    def batches(self, policy: Policy) -> Iterator[list[FileFacts]]:
        if not self.pace.is_due:
            return
        host = str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)
        batch: list[FileFacts] = []
        for file in changed_since(self.connection, self.place.position):
            batch.append(facts_of(self.connection, host, file, policy, self.prices))
            if sum(len(rows) for facts in batch for rows in facts.rows.values()) >= _FACTS:
                yield batch
                batch = []
        if batch:
            yield batch

    def accept(self, batch: Sequence[FileFacts]) -> None:
        self.place.move(batch[-1].seq)
        self.pace.note()
