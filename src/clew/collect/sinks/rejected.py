"""List the records that sinks rejected, and send them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apsw
from msgspec.structs import replace

from clew.collect.masking import Policy
from clew.collect.sinks.outbox import BATCH_ROWS, Delivery, split_batches
from clew.collect.sinks.record import COLUMNS, Record, read_records
from clew.collect.sql.fact_rows import changed_since
from clew.collect.sql.fact_tables import FileFacts
from clew.collect.sql.open_files import build_facts
from clew.facts.prices import load

_RETRIED = "retried: "  # before the reason of a record that is being sent again


class RejectedRecord(NamedTuple):
    """A record that a sink cannot take, why, and where it comes from."""

    sink: str
    seq: int
    reason: str
    path: str
    line: int
    session: str
    bytes: int


def list_rejected(connection: apsw.Connection, sink: str = "") -> list[RejectedRecord]:
    """Return the rejected records of all sinks or of one, in order."""
    query = """
    SELECT r.sink, r.seq, r.reason, f.path, o.number, f.session, o.length
    FROM rejected r JOIN occurrence o ON o.seq = r.seq
    JOIN generation g ON g.id = o.generation JOIN file f ON f.id = g.file
    WHERE ? IN ('', r.sink) ORDER BY r.sink, r.seq
    """
    rows = (RejectedRecord(*row) for row in connection.execute(query, (sink,)))
    return [row._replace(reason=row.reason.removeprefix(_RETRIED)) for row in rows]


def read_rejected(connection: apsw.Connection, seq: int, policy: Policy) -> Record | None:
    """Return a record by its number, masked by the policy; None if it does not exist."""
    rows = connection.execute(f"SELECT {COLUMNS} WHERE o.seq = ?", (seq,)).fetchall()
    return next(read_records(connection, _host(connection), rows, policy), None)


def retry_rejected(delivery: Delivery[Any]) -> Delivery[Any]:
    """Return a delivery that sends what the sink of this one rejected. What is accepted now is forgotten as rejected."""
    is_facts = delivery.sink.name.endswith("#facts")
    kind = _RejectedFacts if is_facts else _RejectedLines
    cursor = kind(delivery.connection, delivery.sink.name)
    return replace(delivery, cursor=cursor)


class _Rejected:
    """Marks records as retried, and forgets those that still are when their batch was sent: a record that is
    rejected again has a new reason without the mark.
    """

    def __init__(self, connection: apsw.Connection, sink: str) -> None:
        self.connection = connection
        self.sink = sink

    def mark(self) -> list[int]:
        query = "SELECT seq FROM rejected WHERE sink = ? ORDER BY seq"
        seqs = [int(row[0]) for row in self.connection.execute(query, (self.sink,))]
        self.connection.execute(
            "UPDATE rejected SET reason = ? || reason WHERE sink = ? AND reason NOT LIKE ? || '%'",
            (_RETRIED, self.sink, _RETRIED),
        )
        return seqs

    def forget(self, first: int, last: int) -> None:
        self.connection.execute(
            "DELETE FROM rejected WHERE sink = ? AND seq BETWEEN ? AND ? AND reason LIKE ? || '%'",
            (self.sink, first, last, _RETRIED),
        )


class _RejectedLines(_Rejected):
    def batches(self, policy: Policy) -> Iterator[list[Record]]:
        seqs = self.mark()
        for at in range(0, len(seqs), BATCH_ROWS):
            part = seqs[at : at + BATCH_ROWS]
            rows = self.connection.execute(
                f"SELECT {COLUMNS} WHERE o.seq IN ({', '.join('?' * len(part))}) ORDER BY o.seq", part
            ).fetchall()
            yield from split_batches(read_records(self.connection, _host(self.connection), rows, policy))

    def accept(self, batch: Sequence[Record]) -> None:
        self.forget(batch[0].seq, batch[-1].seq)


class _RejectedFacts(_Rejected):
    def batches(self, policy: Policy) -> Iterator[list[FileFacts]]:
        seqs = self.mark()
        query = "SELECT generation FROM occurrence WHERE seq = ?"
        generations = {self.connection.execute(query, (seq,)).get for seq in seqs}
        for file in changed_since(self.connection, 0):
            if file.generation in generations:
                yield [build_facts(self.connection, _host(self.connection), file, policy, load())]

    def accept(self, batch: Sequence[FileFacts]) -> None:
        self.forget(0, batch[-1].seq)


def _host(connection: apsw.Connection) -> str:
    return str(connection.execute("SELECT value FROM about WHERE name = 'host'").get)
