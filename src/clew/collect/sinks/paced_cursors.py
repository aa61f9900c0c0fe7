"""Cursors for stores in which every delivery costs a request and creates a file: large batches, at intervals.

A watching collector that has sent everything waits ten minutes before it sends the little that came since.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import apsw

from clew.collect.masking import Policy
from clew.collect.sinks.outbox import SequenceCursor
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_rows import changed_since
from clew.collect.sql.fact_tables import FileFacts
from clew.collect.sql.open_files import build_facts
from clew.facts.prices import Prices

BATCH_ROWS, BATCH_BYTES = 4_000, 32 << 20  # of lines in one delivery
COMMIT_INTERVAL = 600.0  # seconds between two deliveries of a watching collector
_FACT_ROWS = 5_000  # rows of facts in one delivery
Batch = TypeVar("Batch")


class _CommitPace:
    """Limits how often a watching collector commits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.last: float | None = None

    @property
    def is_due(self) -> bool:
        return self.last is None or self.clock() - self.last >= COMMIT_INTERVAL

    def note_end(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches, and note the time after the last; a consumer that stops earlier may continue at once."""
        is_empty = True
        for batch in batches:
            is_empty = False
            yield batch
        if not is_empty:
            self.last = self.clock()


class PacedLineCursor:
    """Yields the waiting lines in large batches."""

    def __init__(self, connection: apsw.Connection, sink: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.place = SequenceCursor(connection, sink, BATCH_ROWS, BATCH_BYTES)
        self.pace = _CommitPace(clock)

    def batches(self, policy: Policy) -> Iterator[list[Record]]:
        if self.pace.is_due:
            yield from self.pace.note_end(self.place.batches(policy))

    def accept(self, batch: Sequence[Record]) -> None:
        self.place.accept(batch)


class PacedFactCursor:
    """Yields the facts of all files with new lines, many files per batch."""

    def __init__(
        self, connection: apsw.Connection, sink: str, prices: Prices, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.connection = connection
        self.place = SequenceCursor(connection, sink)
        self.prices = prices
        self.pace = _CommitPace(clock)

    def batches(self, policy: Policy) -> Iterator[list[FileFacts]]:
        if self.pace.is_due:
            yield from self.pace.note_end(self._batches(policy))

    def _batches(self, policy: Policy) -> Iterator[list[FileFacts]]:
        host = str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)
        batch: list[FileFacts] = []
        for file in changed_since(self.connection, self.place.position):
            batch.append(build_facts(self.connection, host, file, policy, self.prices))
            if sum(len(rows) for facts in batch for rows in facts.rows.values()) >= _FACT_ROWS:
                yield batch
                batch = []
        if batch:
            yield batch

    def accept(self, batch: Sequence[FileFacts]) -> None:
        self.place.move(batch[-1].seq)
