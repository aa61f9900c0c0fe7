"""The chain of objects that an archive puts into a landing zone.

A host cannot ask the zone what arrived. So an object is kept beside the archive until it was accepted, and is put again
as it was after a crash; the cursor and the chain then move in one transaction. Each object names the one before it: an
archive that was put back or copied continues at another place, and the ingester keeps both apart.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw

from clew.collect.landing.folder_zone import Zone
from clew.collect.landing.object_codec import ObjectHeader, encode_object
from clew.collect.landing.object_name import Kind, ObjectName, parse_key
from clew.collect.sinks.delivery_marks import current_host
from clew.collect.sinks.outbox import SequenceCursor
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_tables import FileFacts
from clew.errors import StoreError
from clew.system.sqlite_file import WriteTransaction
from clew.wire.json_codec import decode
from clew.wire.session_writer import create_exactly

_ABOUT = "landing: "  # before the name of the sink, in the table `about`


class _Link(NamedTuple):
    """The last object of an epoch."""

    number: int = 0
    mark: int = 0
    made: int = 0


class AcceptedUpTo(NamedTuple):
    """How far the cursor of a sink is before and after an object is accepted."""

    sink: str
    begin: int
    seq: int
    host: str
    mark: int | None


class _Pending(NamedTuple):
    """An object of which it is not known whether it was accepted."""

    name: ObjectName
    made: int
    end: AcceptedUpTo
    body: bytes


class ObjectChain:
    """Puts objects one after the other."""

    def __init__(
        self, connection: apsw.Connection, zone: Zone, host: str = "", clock: Callable[[], int] = time.time_ns
    ) -> None:
        self.connection = connection
        self.zone = zone
        self.host = host or first_epoch(connection)
        self.clock = clock
        base = os.path.splitext(connection.filename)[0]
        self._path = f"{base}.landing-{sha256(zone.name.encode()).hexdigest()[:12]}.pending"

    def recover(self) -> None:
        """Put an object again whose outcome is unknown. Raises StoreError."""
        pending = self._read_pending()
        if pending is None:
            return
        link = self._last(pending.name.epoch)
        if (link.number + 1, link.mark) == (pending.name.number, pending.name.previous):
            self._put(pending)
        else:  # it is in the chain, or the archive was put back
            Path(self._path).unlink(missing_ok=True)

    def put(
        self, kind: Kind, items: Sequence[Record] | Sequence[FileFacts], end: AcceptedUpTo, *, is_again: bool = False
    ) -> None:
        """Put items as the next object, and move the cursor behind them. Raises StoreError."""
        epoch = current_host(self.connection)
        link = self._last(epoch)
        made = max(self.clock() // 1_000_000, link.made + 1)
        header = ObjectHeader(kind, self.host, epoch, link.number + 1, link.mark, made, is_again)
        body = encode_object(header, items)
        name = ObjectName(self.host, epoch, link.number + 1, link.mark, sha256(body).hexdigest(), kind)
        pending = _Pending(name, made, end, body)
        self._write_pending(pending)
        self._put(pending)

    def _put(self, pending: _Pending) -> None:
        self.zone.put(pending.name.key, pending.body)
        name, end = pending.name, pending.end
        with WriteTransaction(self.connection):
            value = json.dumps([name.epoch, name.number, name.mark, pending.made])
            self.connection.execute("INSERT OR REPLACE INTO about VALUES(?, ?)", (self._key, value))
            cursor = SequenceCursor(self.connection, end.sink)
            position = cursor.position
            cursor.note_accepted(end.seq, end.host, end.mark)
            if position < end.begin:  # everything is sent again
                cursor.go_back(position)
        Path(self._path).unlink(missing_ok=True)

    @property
    def _key(self) -> str:
        return f"{_ABOUT}{self.zone.name}"

    def _last(self, epoch: str) -> _Link:
        value = self.connection.execute("SELECT value FROM about WHERE name = ?", (self._key,)).get
        known, *link = json.loads(str(value)) if value else ("",)
        return _Link(*link) if known == epoch else _Link()

    def _write_pending(self, pending: _Pending) -> None:
        about = json.dumps([pending.name.key, pending.made, *pending.end]).encode()
        try:
            Path(self._path).unlink(missing_ok=True)
            create_exactly(self._path, (about, b"\n", pending.body), mode=0o600)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}.", "io", True) from error

    def _read_pending(self) -> _Pending | None:
        try:
            about, _, body = Path(self._path).read_bytes().partition(b"\n")
            key, made, *end = decode(about)
        except (FileNotFoundError, ValueError, TypeError):
            return None
        name = parse_key(str(key))
        if name is None or sha256(body).hexdigest() != name.digest:
            return None
        return _Pending(name, made, AcceptedUpTo(*end), body)


def first_epoch(connection: apsw.Connection) -> str:
    """Return the name under which an archive sent first: it stays the same when the archive begins a new epoch."""
    parents = {str(row[0]): str(row[1]) for row in connection.execute("SELECT host, parent FROM epoch")}
    host = current_host(connection)
    for _ in parents:
        host = parents.get(host, host)
    return host
