"""Compare what a store says that it has with what the archive has sent.

A store keeps, for each host, the number and the mark of the last record, in the transaction of the records
themselves. So it is noticed when a store was lost or put back from a backup (what is missing is sent again), and when
the archive was put back or copied: then the archive sends under a new name, and no row of the old one is touched.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import apsw

from clew.collect.sinks.delivery_marks import begin_epoch, current_host
from clew.collect.sinks.outbox import MARKED, SequenceCursor, mark_at
from clew.collect.sinks.record import Record

CHECK_INTERVAL = 300.0  # seconds between two checks of a watching collector


class StoreState(NamedTuple):
    """The last record of a host in a store, and its mark; 0 if an earlier version of clew wrote it."""

    seq: int
    mark: int


class KeepsState(Protocol):
    """A sink that knows what it has."""

    name: str

    def store_id(self) -> str:
        """Return a name that differs for a store that was created again; empty if unknown."""

    def state(self, host: str) -> StoreState | None: ...

    def has_line(self, host: str, file: int, generation: int, offset: int, hash: str) -> bool:
        """Return whether the store has a line; False also if it cannot say."""

    def expect(self, mark: int) -> None:
        """Write from now on only if the last mark in the store is this one; else raise StoreError of kind EPOCH."""

    def advance(self, record: Record) -> None:
        """Note the mark of a record without writing it: it was rejected or filtered."""

    @property
    def last_mark(self) -> int: ...


class StoreCheck:
    """Compares a store with the cursor of its lines, before they are sent."""

    def __init__(self, connection: apsw.Connection, sink: KeepsState, cursor: SequenceCursor) -> None:
        self.connection = connection
        self.sink = sink
        self.cursor = cursor
        self._next = 0.0
        self._failures = 0

    def run(self, now: float) -> str:
        """Compare, at most every few minutes. Returns a sentence if something has to be sent again."""
        if now < self._next:
            return ""
        sentence = self._compare()
        self._next = now + CHECK_INTERVAL
        return sentence

    def prepare(self) -> None:
        """Nothing: a batch carries its mark."""

    def invalidate(self) -> None:
        """Compare again before anything else is sent: a delivery failed."""
        self._next = 0.0

    def resolve(self) -> str:
        """Compare after the store refused a batch; take a new name if that is not enough. Returns a sentence."""
        self._failures += 1
        if self._failures == 1:
            return self._compare()
        self._failures = 0
        return self._separate("another archive sends under its name")

    def settle(self, record: Record) -> None:
        """Bring the mark in the store to the end of a batch of which not all records were written."""
        self._failures = 0
        if record.mark is not None and self.sink.last_mark != record.mark:
            self.sink.advance(record)

    def _compare(self) -> str:
        sent, host, store = self.cursor.sent, current_host(self.connection), self.sink.store_id()
        state = self.sink.state(sent.host or host)
        sentence = self._decide(state, store)
        self.cursor.save_store(self.sink.store_id())
        sent = self.cursor.sent
        has_mark = (state is None or state.mark) and sent.host == current_host(self.connection)
        self.sink.expect(sent.mark if has_mark else 0)
        return sentence

    def _decide(self, state: StoreState | None, store: str) -> str:
        sent, host = self.cursor.sent, current_host(self.connection)
        own = self.sink.state(host) if sent.host not in ("", host) else None
        if own and own.mark and own.mark == mark_at(self.connection, sent.head, 0, own.seq):
            self.cursor.adopt(own.seq, own.mark, host)  # the first acknowledgement under a new name was lost
            return ""
        is_other_store = bool(sent.store) and sent.store != store
        if state is None:
            return self._restart("has lost what it had") if sent.head else ""
        if is_other_store:
            return self._separate("another archive has filled the new store under its name", is_new=True)
        if self._is_equal(sent.head, sent.mark, state):
            return ""
        if state.mark and state.seq < sent.head and self.cursor.rewind(state.seq, state.mark):
            return f"{self.sink.name} was put back from a backup: what it lacks is sent again."
        if (
            sent.host in ("", host)
            and state.mark
            and mark_at(self.connection, sent.head, sent.mark, state.seq) == state.mark
        ):
            self.cursor.adopt(state.seq, state.mark, host)  # the last acknowledgement was lost
            return ""
        if sent.host not in ("", host):  # it has a new name already
            return "" if self._has_head() else self._restart("lacks records")
        return self._separate("the store has other records under its name")

    def _is_equal(self, head: int, mark: int, state: StoreState) -> bool:
        if state.mark:
            return state.mark == mark
        newer = self.connection.execute(f"SELECT 1 FROM ({MARKED} LIMIT 1)", (state.seq, head)).get
        return state.seq <= head and newer is None  # an earlier version of clew, or a store without marks, wrote it

    def _restart(self, reason: str) -> str:
        self.cursor.restart()
        return f"{self.sink.name} {reason}: everything is sent again."

    def _separate(self, reason: str, *, is_new: bool = False) -> str:
        is_held = not is_new and self._has_head()
        begin_epoch(self.connection, f"{self.sink.name}: {reason}")
        if not is_held:
            self.cursor.restart()
        self.sink.expect(0)
        return f"The archive sends to {self.sink.name} under a new name from now on: {reason}."

    def _has_head(self) -> bool:
        """Return whether the store has the last record that was sent, and so all before it. The last mark under a name
        that others use too does not tell.
        """
        sent = self.cursor.sent
        for file, generation, offset, hash in self.connection.execute(MARKED, (sent.head - 1, sent.head)):
            place = (int(str(file)), int(str(generation)), int(str(offset)))
            return bool(sent.host) and self.sink.has_line(sent.host, *place, bytes(hash).hex())
        return False
