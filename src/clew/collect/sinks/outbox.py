"""Deliver archived records to sinks in batches, with a cursor per sink and retries.

A sink that is down does not stop the collection. A cursor only moves past accepted records, so a batch with an
unknown outcome is sent again: records have stable names, and a sink keeps one of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import random
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import apsw
from msgspec import Struct

from clew.collect.discovery import DELIVERED_KINDS
from clew.collect.masking import Policy
from clew.collect.sinks.delivery_marks import current_host, extend_mark, mark_records
from clew.collect.sinks.record import COLUMNS, DAMAGED, Record, read_records
from clew.errors import StoreError
from clew.system.sqlite_file import WriteTransaction

BATCH_ROWS = 500
BATCH_BYTES = 4 << 20
FACTS = "#facts"  # the end of the name of a sink for facts
EPOCH = "epoch"  # the kind of error if a store has other records of this archive than expected
POISON = "poison"  # the kind of error that a single record of a batch may cause
KEPT_MARKS = 1000  # batches by which a store that was put back from a backup is recognized
_FIRST_WAIT, _MAX_WAIT = 1.0, 300.0  # seconds to wait after a failure

DELIVERABLE = f"g.is_stub = 0 AND f.kind IN ({', '.join(repr(kind) for kind in DELIVERED_KINDS)})"

MARKED = f"""
SELECT f.id, g.number, o.offset, c.hash FROM occurrence o JOIN generation g ON g.id = o.generation
JOIN file f ON f.id = g.file JOIN content c ON c.id = o.content
WHERE o.seq > ? AND o.seq <= ? AND {DELIVERABLE} ORDER BY o.seq
"""


def mark_at(connection: apsw.Connection, seq: int, mark: int, until: int) -> int:
    """Return the mark of a record, from that of an earlier one."""
    for file, generation, offset, hash in connection.execute(MARKED, (seq, until)):
        mark = extend_mark(mark, int(str(file)), int(str(generation)), int(str(offset)), bytes(hash))
    return mark


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


class Sent(NamedTuple):
    """How far a sink is: the cursor; the last record that was sent for the first time, with its mark, under which
    host; and which store it was. While records are sent again the cursor is before `head`.
    """

    seq: int = 0
    head: int = 0
    mark: int = 0
    host: str = ""
    store: str = ""

    def limit(self, position: int, last: int) -> int:
        """Return the last record that may be in a batch: one is sent again completely, or not at all."""
        return self.head if position < self.head else last


class SequenceCursor:
    """A cursor in the archive: a sequence number that only grows."""

    def __init__(self, connection: apsw.Connection, sink: str, rows: int = BATCH_ROWS, size: int = BATCH_BYTES) -> None:
        self.connection = connection
        self.sink = sink
        self.rows = rows
        self.size = size
        self.store = ""

    @property
    def position(self) -> int:
        return int(self.connection.execute("SELECT seq FROM sink WHERE name = ?", (self.sink,)).get or 0)

    def batches(self, policy: Policy) -> Iterator[list[Record]]:
        host = current_host(self.connection)
        last = int(self.connection.execute("SELECT max(seq) FROM occurrence").get or 0)
        sent = self.sent
        mark = mark_at(self.connection, sent.head, sent.mark if sent.host == host else 0, self.position)
        query = f"SELECT {COLUMNS} WHERE o.seq > ? AND o.seq <= ? AND {DELIVERABLE} ORDER BY o.seq LIMIT {self.rows}"
        while (position := self.position) < last:
            limit = sent.limit(position, last)
            if rows := self.connection.execute(query, (position, limit)).fetchall():
                for batch in split_batches(read_records(self.connection, host, rows, policy), self.rows, self.size):
                    if batch[0].seq > sent.head:
                        batch, mark = mark_records(batch, mark)
                    if sound := self._sound(batch):
                        yield sound
            self.move(int(str(rows[-1][0])) if rows else limit)  # past what is never delivered

    def _sound(self, batch: Sequence[Record]) -> list[Record]:
        """Leave out lines that are damaged in the archive, and note them as rejected."""
        for record in batch:
            if record.withheld == DAMAGED:
                reject(self.connection, self.sink, record.seq, DAMAGED)
        return [record for record in batch if record.withheld != DAMAGED]

    @property
    def sent(self) -> Sent:
        """What the sink has accepted."""
        row: Any = self.connection.execute(
            "SELECT seq, head, mark, host, store FROM sink WHERE name = ?", (self.sink,)
        ).fetchone()
        return Sent(*row) if row else Sent()

    def accept(self, batch: Sequence[Record]) -> None:
        last = batch[-1]
        with WriteTransaction(self.connection):
            self.note_accepted(last.seq, last.host, last.mark)

    def note_accepted(self, seq: int, host: str, mark: int | None) -> None:
        """Move behind a record, in the transaction of the caller. One that was sent again has no mark."""
        self.move(seq)
        if mark is None:
            return
        self.connection.execute(
            "UPDATE sink SET head = ?, mark = ?, host = ?, store = ? WHERE name = ?",
            (seq, mark, host, self.store, self.sink),
        )
        self.connection.execute("INSERT OR REPLACE INTO sink_mark VALUES(?, ?, ?)", (self.sink, seq, mark))
        self.connection.execute(
            "DELETE FROM sink_mark WHERE sink = ?1 AND seq < (SELECT seq FROM sink_mark WHERE sink = ?1"
            f" ORDER BY seq DESC LIMIT 1 OFFSET {KEPT_MARKS})",
            (self.sink,),
        )

    def go_back(self, seq: int) -> None:
        """Move to a record before, from which everything is sent again."""
        self.connection.execute("UPDATE sink SET seq = ? WHERE name = ?", (seq, self.sink))

    def restart(self) -> None:
        """Forget what was sent, also of the facts: all is sent again. Marks of facts stay: the store may come back."""
        self.connection.execute("DELETE FROM sink WHERE name IN (?, ?)", (self.sink, f"{self.sink}{FACTS}"))
        self.connection.execute("DELETE FROM sink_mark WHERE sink = ?", (self.sink,))

    def resend(self) -> None:
        """Send everything again to a store that has it, in whole or in part."""
        self.connection.execute("UPDATE sink SET seq = 0 WHERE name IN (?, ?)", (self.sink, f"{self.sink}{FACTS}"))

    def rewind(self, seq: int, mark: int) -> bool:
        """Go back to a mark that was sent before, if there is such a one: the store has nothing after it."""
        query = "SELECT 1 FROM sink_mark WHERE sink = ? AND seq = ? AND mark = ?"
        if self.connection.execute(query, (self.sink, seq, mark)).get is None:
            return False
        with WriteTransaction(self.connection):
            self.connection.execute("DELETE FROM sink_mark WHERE sink = ? AND seq > ?", (self.sink, seq))
            self.connection.execute(
                "UPDATE sink SET seq = min(seq, ?1), head = ?1, mark = ?2 WHERE name = ?3", (seq, mark, self.sink)
            )
            self.connection.execute("UPDATE sink SET seq = min(seq, ?) WHERE name = ?", (seq, f"{self.sink}{FACTS}"))
        return True

    def adopt(self, seq: int, mark: int, host: str) -> None:
        """Note that the store has accepted more than was acknowledged. What is being sent again still is."""
        self.connection.execute(
            "INSERT INTO sink(name, seq, head, mark, host) VALUES(?1, ?2, ?2, ?3, ?4) ON CONFLICT(name) DO UPDATE "
            "SET seq = iif(seq < head, seq, ?2), head = ?2, mark = ?3, host = ?4",
            (self.sink, seq, mark, host),
        )

    def save_store(self, store: str) -> None:
        """Note which store this is; it has another name after it was created again."""
        self.store = store
        self.connection.execute("UPDATE sink SET store = ? WHERE name = ? AND store <> ?1", (store, self.sink))

    def move(self, seq: int) -> None:
        self.connection.execute(
            "INSERT INTO sink(name, seq) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET seq = max(seq, excluded.seq)",
            (self.sink, seq),
        )


def adopt_old_name(connection: apsw.Connection, old: str, name: str) -> None:
    """Continue the cursors of a sink that was known without its endpoint; the store decides whether they are right."""
    for end in ("", FACTS):
        connection.execute("UPDATE OR IGNORE sink SET name = ? WHERE name = ?", (f"{name}{end}", f"{old}{end}"))


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


class Check(Protocol):
    """Compares a store with what it was sent; see `store_check`."""

    def run(self, now: float, /) -> str: ...

    def prepare(self) -> None: ...

    def resolve(self) -> str: ...

    def invalidate(self) -> None: ...

    def settle(self, record: Any, /) -> None: ...


class DeliveryOutcome(NamedTuple):
    """The result of a delivery. `error` is why it stopped before the end."""

    sink: str
    sent: int
    rejected: int
    error: StoreError | None
    is_complete: bool = True
    """False if more is waiting and can be sent now."""
    note: str = ""
    """What was found out about the store, as a sentence."""
    retention: str = ""
    """What the store keeps and for how long; empty if it keeps everything."""


def _accept_all(_: object) -> bool:
    return True


class Delivery(Struct, Generic[Item], eq=False):
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
    check: Check | None = None
    failures: int = 0
    not_before: float = 0.0
    _rejected: int = 0

    def run(self, now: float, is_enough: Callable[[], bool] = lambda: False) -> DeliveryOutcome | None:
        """Send what is waiting, batch by batch, until `is_enough`; None if it is too early after a failure."""
        if now < self.not_before:
            return None
        sent = self._rejected = 0
        is_complete = True
        try:
            note = self.check.run(now) if self.check else ""
            for batch in self.cursor.batches(self.policy):
                if wanted := [item for item in batch if self.wants(item)]:
                    if self.check:
                        self.check.prepare()
                    sent += self._send_batch(wanted)
                if self.check:
                    self.check.settle(batch[-1])
                self.cursor.accept(batch)
                if is_enough():
                    is_complete = False
                    break
        except StoreError as error:
            if error.kind == EPOCH and self.check:
                return self._resolve(now, is_enough)
            if self.check:
                self.check.invalidate()
            self.failures += 1
            self.not_before = now + self._retry_delay(error)
            return DeliveryOutcome(self.sink.name, sent, self._rejected, error)
        self.failures = 0
        if is_complete:
            self.not_before = now + self.every
        retention = getattr(self.sink, "retention", "")
        return DeliveryOutcome(self.sink.name, sent, self._rejected, None, is_complete, note, retention)

    def _resolve(self, now: float, is_enough: Callable[[], bool]) -> DeliveryOutcome | None:
        """Continue after the store refused a batch because it has other records of this archive."""
        note = self.check.resolve() if self.check else ""
        outcome = self.run(now, is_enough)
        return outcome._replace(note=f"{note} {outcome.note}".strip()) if outcome else None

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
