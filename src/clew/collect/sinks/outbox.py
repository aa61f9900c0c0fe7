"""Deliver archived records to sinks in batches, with a cursor per sink and retries.

A sink that is down does not stop the collection. A cursor only moves past accepted records, so a batch with an
unknown outcome is sent again: records have stable names, and a sink keeps one of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import random
from typing import Generic, NamedTuple, Protocol, TypeVar

import apsw

from clew.collect.discovery import DELIVERED_KINDS
from clew.collect.masking import Policy
from clew.collect.sinks.record import COLUMNS, DAMAGED, Record, read_records
from clew.errors import StoreError

BATCH_ROWS = 500
BATCH_BYTES = 4 << 20
POISON = "poison"  # the kind of error that a single record of a batch may cause
_FIRST_WAIT, _MAX_WAIT = 1.0, 300.0  # seconds to wait after a failure

DELIVERABLE = f"g.is_stub = 0 AND f.kind IN ({', '.join(repr(kind) for kind in DELIVERED_KINDS)})"


class Sequenced(Protocol):
    """Something with a sequence number in the archive."""

    @property
    def seq(self) -> int: ...


Item = TypeVar("Item", bound=Sequenced)
Accepted = TypeVar("Accepted", bound=Sequenced, contravariant=True)


class Sink(Protocol[Accepted]):
    """A destination for records, or for values derived from them.

    `leaves` is True if it is, or may come to be, outside this machine: secrets are masked.
    """

    name: str
    leaves: bool

    def write(self, batch: Sequence[Accepted], /) -> None:
        """Accept the whole batch or raise StoreError: `retryable`, or of the kind POISON if a record cannot be
        accepted.
        """

    def close(self) -> None: ...


class Cursor(Protocol[Item]):
    """How far a sink has accepted the archive."""

    def batches(self, policy: Policy) -> Iterator[list[Item]]:
        """Yield what the sink has not accepted."""

    def accept(self, batch: Sequence[Item]) -> None:
        """Record that the sink accepted a batch."""


class SequenceCursor:
    """A cursor in the archive: a sequence number that only grows."""

    def __init__(self, connection: apsw.Connection, sink: str, rows: int = BATCH_ROWS, size: int = BATCH_BYTES) -> None:
        self.connection = connection
        self.sink = sink
        self.rows = rows
        self.size = size

    @property
    def position(self) -> int:
        return int(self.connection.execute("SELECT seq FROM sink WHERE name = ?", (self.sink,)).get or 0)

    def batches(self, policy: Policy) -> Iterator[list[Record]]:
        host = str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)
        last = int(self.connection.execute("SELECT max(seq) FROM occurrence").get or 0)
        query = f"SELECT {COLUMNS} WHERE o.seq > ? AND o.seq <= ? AND {DELIVERABLE} ORDER BY o.seq LIMIT {self.rows}"
        while rows := self.connection.execute(query, (self.position, last)).fetchall():
            yield from split_batches(self._sound(read_records(host, rows, policy)), self.rows, self.size)
            self.move(int(str(rows[-1][0])))
        if last > self.position:  # skip what is never delivered
            self.move(last)

    def _sound(self, records: Iterator[Record]) -> Iterator[Record]:
        """Leave out lines that are damaged in the archive, and note them as rejected."""
        for record in records:
            if record.withheld == DAMAGED:
                reject(self.connection, self.sink, record.seq, DAMAGED)
            else:
                yield record

    def accept(self, batch: Sequence[Record]) -> None:
        self.move(batch[-1].seq)

    def move(self, seq: int) -> None:
        self.connection.execute(
            "INSERT INTO sink(name, seq) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET seq = max(seq, excluded.seq)",
            (self.sink, seq),
        )


def reject(connection: apsw.Connection, sink: str, seq: int, reason: str) -> None:
    """Note that a sink was not sent a record."""
    connection.execute(
        "INSERT INTO rejected VALUES(?, ?, ?) ON CONFLICT(sink, seq) DO UPDATE SET reason = excluded.reason",
        (sink, seq, reason),
    )


def split_batches(
    records: Iterator[Record], rows: int = BATCH_ROWS, max_bytes: int = BATCH_BYTES
) -> Iterator[list[Record]]:
    """Yield records in batches that are limited in number and in bytes."""
    batch: list[Record] = []
    size = 0
    for record in records:
        if batch and (size + len(record.raw or b"") > max_bytes or len(batch) >= rows):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += len(record.raw or b"")
    if batch:
        yield batch


class DeliveryOutcome(NamedTuple):
    """The result of a delivery. `error` is why it stopped before the end."""

    sink: str
    sent: int
    rejected: int
    error: StoreError | None
    is_complete: bool = True
    """False if more is waiting and can be sent now."""


def _accept_all(_: object) -> bool:
    return True


@dataclass(slots=True)
class Delivery(Generic[Item]):
    """A sink with its cursor and its retry state. The wait after a failure doubles each time."""

    sink: Sink[Item]
    cursor: Cursor[Item]
    connection: apsw.Connection
    policy: Policy
    chance: Callable[[], float] = random
    wants: Callable[[Item], bool] = _accept_all
    """Whether the sink is sent an item; the cursor moves past the others."""
    every: float = 0.0
    """Seconds between two complete deliveries."""
    failures: int = 0
    not_before: float = 0.0
    _rejected: int = field(default=0, init=False)

    def run(self, now: float, is_enough: Callable[[], bool] = lambda: False) -> DeliveryOutcome | None:
        """Send what is waiting, batch by batch, until `is_enough`; None if it is too early after a failure."""
        if now < self.not_before:
            return None
        sent = self._rejected = 0
        is_complete = True
        try:
            for batch in self.cursor.batches(self.policy):
                if wanted := [item for item in batch if self.wants(item)]:
                    sent += self._send_batch(wanted)
                self.cursor.accept(batch)
                if is_enough():
                    is_complete = False
                    break
        except StoreError as error:
            self.failures += 1
            self.not_before = now + self._retry_delay(error)
            return DeliveryOutcome(self.sink.name, sent, self._rejected, error)
        self.failures = 0
        if is_complete:
            self.not_before = now + self.every
        return DeliveryOutcome(self.sink.name, sent, self._rejected, None, is_complete)

    def _send_batch(self, batch: Sequence[Item]) -> int:
        """Send a batch. If a record in it is poison, find it by bisection and reject it alone.

        For example, if the third of [a, b, c, d] is poison: [a, b] is accepted, [c, d] fails, [c] is rejected, [d]
        is accepted.
        """
        try:
            self.sink.write(batch)
        except StoreError as error:
            if error.kind != POISON:
                raise
            if len(batch) == 1:
                self._reject(batch[0], str(error))
                return 0
            middle = len(batch) // 2
            return self._send_batch(batch[:middle]) + self._send_batch(batch[middle:])
        return len(batch)

    def _reject(self, poison: Item, reason: str) -> None:
        self._rejected += 1
        reject(self.connection, self.sink.name, poison.seq, reason)

    def _retry_delay(self, error: StoreError) -> float:
        """Return the wait after a failure: doubled each time, with jitter, and at least what the server asked for."""
        wait = min(_MAX_WAIT, _FIRST_WAIT * 2.0 ** min(self.failures - 1, 20))
        requested = getattr(error, "retry_after", None)
        return max(float(requested or 0.0), wait * (0.5 + self.chance() / 2))
