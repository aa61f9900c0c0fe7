"""Compare the facts that a store has of an archive with those that it was sent.

A store keeps a random mark with the last facts of each host, and the archive remembers at which position of the
cursor each mark was sent. So facts are sent again to a store that was put back from a backup or created again, and an
archive that was put back or copied does not replace the facts of the other one.
"""

from __future__ import annotations

import os
from typing import Protocol

import apsw

from clew.collect.sinks.delivery_marks import begin_epoch, current_host
from clew.collect.sinks.outbox import KEPT_MARKS, SequenceCursor
from clew.collect.sinks.store_check import CHECK_INTERVAL, StoreCheck
from clew.system.sqlite_file import WriteTransaction


class KeepsFactMark(Protocol):
    """A sink of facts that keeps a mark with them."""

    name: str
    next_mark: int
    """The mark to keep with the next facts."""

    def fact_mark(self, host: str) -> int | None:
        """Return the mark of the last facts of a host: 0 if there is none, None if the store keeps no marks."""

    def newer_files(self, host: str, seq: int) -> list[int]:
        """Return the files of a host whose facts were built from lines after this number."""


class FactCheck:
    """Compares a store with the cursor of its facts, after that of its lines if these are sent too."""

    def __init__(self, connection: apsw.Connection, sink: KeepsFactMark, lines: StoreCheck | None) -> None:
        self.connection = connection
        self.sink = sink
        self.lines = lines
        self.place = SequenceCursor(connection, sink.name)
        self._next = 0.0

    def run(self, now: float) -> str:
        """Compare, at most every few minutes. Returns a sentence if something has to be sent again."""
        sentence = self.lines.run(now) if self.lines else ""
        if now < self._next:
            return sentence
        sentence = f"{sentence} {self._compare()}".strip()
        self._next = now + CHECK_INTERVAL
        return sentence

    def invalidate(self) -> None:
        """Compare again before anything else is sent: a delivery failed."""
        self._next = 0.0
        if self.lines:
            self.lines.invalidate()

    def prepare(self) -> None:
        """Choose the mark of the next facts, and remember it before they are sent."""
        self.sink.next_mark = int.from_bytes(os.urandom(8), "big") % (1 << 62) + 1
        with WriteTransaction(self.connection):
            self.connection.execute(
                "INSERT INTO sink_mark VALUES(?, ?, ?)", (self.sink.name, self.sink.next_mark, self.place.position)
            )
            self.connection.execute(
                "DELETE FROM sink_mark WHERE sink = ?1 AND seq NOT IN "
                f"(SELECT seq FROM sink_mark WHERE sink = ?1 ORDER BY mark DESC LIMIT {KEPT_MARKS})",
                (self.sink.name,),
            )

    def settle(self, item: object, /) -> None:
        """Note that the store has the last facts."""
        if self.sink.next_mark:
            self.connection.execute(
                "INSERT INTO sink(name, seq, mark, host) VALUES(?1, 0, ?2, ?3) "
                "ON CONFLICT(name) DO UPDATE SET mark = ?2, host = ?3",
                (self.sink.name, self.sink.next_mark, current_host(self.connection)),
            )
            self.sink.next_mark = 0

    def resolve(self) -> str:
        """Compare after the store refused a batch."""
        self.invalidate()
        return ""

    def _compare(self) -> str:
        sent, host = self.place.sent, current_host(self.connection)
        mark = self.sink.fact_mark(sent.host or host)
        if mark is None or mark == sent.mark:
            return ""
        query = "SELECT mark FROM sink_mark WHERE sink = ? AND seq = ?"
        position = self.connection.execute(query, (self.sink.name, mark)).get
        if position is not None:
            return self._rewind(int(position), mark)
        if not mark:
            return self._restart("has lost its facts")
        if sent.host not in ("", host):  # it has a new name already
            return self._send_replaced(sent.host, host)
        begin_epoch(self.connection, f"{self.sink.name}: another archive sends facts under its name")
        return self._restart("has facts of another archive under its name") if self.lines is None else ""

    def _rewind(self, position: int, mark: int) -> str:
        """Go back to the facts that the store has; those of the last batch may be unacknowledged."""
        is_behind = position < self.place.position
        self.connection.execute(
            "UPDATE sink SET seq = min(seq, ?), mark = ? WHERE name = ?", (position, mark, self.sink.name)
        )
        return f"{self.sink.name} was put back from a backup: what it lacks is sent again." if is_behind else ""

    def _send_replaced(self, old: str, host: str) -> str:
        """Send the facts of files under the new name that the store has from lines which this archive lacks.

        They may lack others: the lost archive was damaged when it sent them, say.
        """
        position = self.place.position
        files = self.sink.newer_files(old, position)
        places = ", ".join("?" * len(files))
        last = (
            "SELECT max(o.seq) AS seq FROM file f JOIN occurrence o ON o.generation = f.generation "
            f"WHERE f.id IN ({places}) GROUP BY f.id"
        )
        first = self.connection.execute(f"SELECT min(seq) FROM ({last})", files).get
        if first is None or int(first) > position:
            return ""
        query = "UPDATE sink SET seq = ?, mark = 0, host = ? WHERE name = ?"
        self.connection.execute(query, (int(first) - 1, host, self.sink.name))
        return f"{self.sink.name} has facts of lines that this archive lacks: its own are sent again."

    def _restart(self, reason: str) -> str:
        self.connection.execute("DELETE FROM sink WHERE name = ?", (self.sink.name,))
        return f"{self.sink.name} {reason}: they are all sent again."
