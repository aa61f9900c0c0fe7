"""The outbox: the archive itself, and for each sink a cursor behind what it has accepted.

A sink that is down keeps nothing from being collected. A cursor moves only behind what was accepted, so a batch whose
outcome is unknown is sent again: records have names that last, and a sink keeps one of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import random
from typing import Generic, NamedTuple, Protocol, TypeVar

import apsw

from clew.collect.discovery import DELIVERED_KINDS
from clew.collect.masking import Policy
from clew.collect.sinks.record import COLUMNS, Record, records
from clew.errors import StoreError

ROWS = 500
BYTES = 4 << 20
POISON = "poison"  # the kind of error that one record of a batch may cause
_FIRST, _LONGEST = 1.0, 300.0  # seconds to wait after a failure

DELIVERABLE = f"g.is_stub = 0 AND f.kind IN ({', '.join(repr(kind) for kind in DELIVERED_KINDS)})"


class Turned(Protocol):
    """What can be delivered has a turn in the archive."""

    @property
    def seq(self) -> int: ...


Item = TypeVar("Item", bound=Turned)
Given = TypeVar("Given", bound=Turned, contravariant=True)


class Sink(Protocol[Given]):
    """Somewhere that records go, or what is made of them.

    `leaves` says that it is beyond this machine, or may come to be: secrets are masked.
    """

    name: str
    leaves: bool

    def write(self, batch: Sequence[Given], /) -> None:
        """All of them, or StoreError: `retryable`, or of the kind POISON if a record cannot be taken."""

    def close(self) -> None: ...


class Cursor(Protocol[Item]):
    """How far a sink is."""

    def batches(self, policy: Policy) -> Iterator[list[Item]]:
        """What it has not accepted."""

    def accept(self, batch: Sequence[Item]) -> None:
        """Remember that it has these."""


class SequenceCursor:
    """A cursor in the archive: a number that only grows."""

    def __init__(self, connection: apsw.Connection, sink: str, rows: int = ROWS, size: int = BYTES) -> None:
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
            yield from bounded(records(host, rows, policy), self.rows, self.size)
        if last > self.position:  # over what no sink is given
            self.move(last)

    def accept(self, batch: Sequence[Record]) -> None:
        self.move(batch[-1].seq)

    def move(self, seq: int) -> None:
        self.connection.execute(
            "INSERT INTO sink VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET seq = max(seq, excluded.seq)",
            (self.sink, seq),
        )


def bounded(records: Iterator[Record], rows: int = ROWS, most: int = BYTES) -> Iterator[list[Record]]:
    """Records in batches that have an end, in number and in bytes."""
    batch: list[Record] = []
    size = 0
    for each in records:
        if batch and (size + len(each.raw or b"") > most or len(batch) >= rows):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += len(each.raw or b"")
    if batch:
        yield batch


class DeliveryOutcome(NamedTuple):
    """What a delivery came to. `error` is why it stopped before the end."""

    sink: str
    sent: int
    rejected: int
    error: StoreError | None


@dataclass(slots=True)
class Delivery(Generic[Item]):
    """A sink with its cursor and its patience. After failures it is left alone for longer and longer."""

    sink: Sink[Item]
    cursor: Cursor[Item]
    connection: apsw.Connection
    policy: Policy
    chance: Callable[[], float] = random
    failures: int = 0
    not_before: float = 0.0
    _rejected: int = field(default=0, init=False)

    def run(self, now: float, is_enough: Callable[[], bool] = lambda: False) -> DeliveryOutcome | None:
        """Send what is waiting, batch by batch until it is enough; None if it is too early after a failure."""
        if now < self.not_before:
            return None
        sent = self._rejected = 0
        try:
            for batch in self.cursor.batches(self.policy):
                sent += self._send(batch)
                self.cursor.accept(batch)
                if is_enough():
                    break
        except StoreError as error:
            self.failures += 1
            self.not_before = now + self._patience(error)
            return DeliveryOutcome(self.sink.name, sent, self._rejected, error)
        self.failures = 0
        return DeliveryOutcome(self.sink.name, sent, self._rejected, None)

    def _send(self, batch: Sequence[Item]) -> int:
        """Send a batch; if one record in it is poison, find it by halves and put it aside."""
        try:
            self.sink.write(batch)
        except StoreError as error:
            if error.kind != POISON:
                raise
            if len(batch) == 1:
                self._reject(batch[0], str(error))
                return 0
            middle = len(batch) // 2
            return self._send(batch[:middle]) + self._send(batch[middle:])
        return len(batch)

    def _reject(self, poison: Item, reason: str) -> None:
        self._rejected += 1
        self.connection.execute(
            "INSERT INTO rejected VALUES(?, ?, ?) ON CONFLICT(sink, seq) DO UPDATE SET reason = excluded.reason",
            (self.sink.name, poison.seq, reason),
        )

    def _patience(self, error: StoreError) -> float:
        """Twice as long after each failure, with some chance in it; or as long as the other side asked for."""
        wait = min(_LONGEST, _FIRST * 2.0 ** min(self.failures - 1, 20))
        asked = getattr(error, "retry_after", None)
        return max(float(asked or 0.0), wait * (0.5 + self.chance() / 2))
