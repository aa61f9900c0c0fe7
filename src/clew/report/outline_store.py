"""Cache what lists show of session files, so that only changed ones are read again. The cache can be deleted at any time.

What is known of a file is valid for one state (inode, size and time) of it.
"""

from __future__ import annotations

import os
from datetime import datetime
from types import TracebackType
from zlib import crc32

import apsw
from msgspec import MsgspecError, Struct, msgpack
from msgspec.structs import asdict

from clew.conversation.session_listing import Outline
from clew.report.usage_summary import cache_folder
from clew.system.sqlite_file import DAMAGE, UNUSABLE, WriteTransaction, open_cache
from clew.wire.content_time import Times, last_times, sort_key
from clew.wire.layout import SessionFile

VERSION = 2
_TABLE = """
DROP TABLE IF EXISTS outline;
CREATE TABLE outline(
  path TEXT PRIMARY KEY, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, crc INTEGER NOT NULL,
  data BLOB NOT NULL
) WITHOUT ROWID;
"""
_INSERT = "INSERT OR REPLACE INTO outline VALUES(?,?,?,?,?,?)"
_LARGEST = (1 << 63) - 1  # largest integer that a database stores
_FileState = tuple[int, int, int]  # inode, size, time


class ListedFacts(Struct, frozen=True, array_like=True):
    """What a list shows of a session, by the names of `Outline`."""

    title: str
    tag: str
    cwd: str | None
    branch_name: str | None
    version: str | None
    slug: str | None
    started: datetime | None
    is_conversation: bool
    is_sidechain: bool


class _Stored(Struct, array_like=True):
    """The times of a file, which sort it, and what a list shows of it, if it was shown."""

    times: Times
    facts: ListedFacts | None = None


_DECODE = msgpack.Decoder(_Stored).decode


class OutlineStore:
    """The outlines of the sessions in a folder of Claude Code. What was read is stored at the end of a `with` block."""

    def __init__(self, root: str, cache: str | None) -> None:
        """Load the store from a cache folder. Without one, or if it cannot be used, nothing is stored."""
        self._known: dict[str, tuple[_FileState, bytes]] = {}  # encoded: decoded ones take four times the memory
        self._changed: set[str] = set()
        self._database: apsw.Connection | None = None
        try:
            self._database = open_cache(cache_folder(root, cache) if cache else None, "outlines.db", _create_table)
            for path, inode, size, mtime, check, data in self._database.execute("SELECT * FROM outline"):
                if crc32(data) == check:
                    self._known[path] = (inode, size, mtime), data
        except (*UNUSABLE, *DAMAGE, apsw.BusyError):
            self._known.clear()

    def __enter__(self) -> OutlineStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._database is not None:
            self._save(self._database)
            self._database.close()

    def _find(self, file: SessionFile) -> _Stored:
        known = self._known.get(str(file.path))
        if known is not None and known[0] == _state(file):
            try:
                return _DECODE(known[1])
            except MsgspecError:  # of another shape: it is read again
                pass
        return self._keep(file, _Stored(last_times(file)))

    def _keep(self, file: SessionFile, stored: _Stored) -> _Stored:
        path = str(file.path)
        self._known[path] = _state(file), msgpack.encode(stored)
        self._changed.add(path)
        return stored

    def sort_key(self, file: SessionFile) -> tuple[float, float, str]:
        """Return the key that sorts files newest first (`wire.content_time`)."""
        return sort_key(file, self._find(file).times)

    def outline(self, file: SessionFile) -> Outline:
        """Return the outline of a session with everything that a list shows. Raises OSError for a file that cannot be
        read.
        """
        stored, outline = self._find(file), Outline(file)
        vars(outline)["times"] = stored.times
        if stored.facts is None:
            stored.facts = ListedFacts(*(getattr(outline, name) for name in ListedFacts.__struct_fields__))
            self._keep(file, stored)
        else:
            vars(outline).update(asdict(stored.facts))
        return outline

    def _save(self, database: apsw.Connection) -> None:
        """Store what was read, and remove files that do not exist any more."""
        if not self._changed:
            return
        gone = [path for path in self._known if not os.path.exists(path)]
        try:
            with WriteTransaction(database):
                database.executemany("DELETE FROM outline WHERE path=?", ((path,) for path in gone))
                for path in self._changed.difference(gone):
                    state, data = self._known[path]
                    stored = _DECODE(data)
                    if stored.facts or stored.times[0]:  # else it may be unreadable, which its time does not tell
                        database.execute(_INSERT, (path, *state, crc32(data), data))
        except (*UNUSABLE, *DAMAGE, apsw.BusyError):  # the next list reads the files again
            return


def _state(file: SessionFile) -> _FileState:
    return file.inode & _LARGEST, file.size, file.mtime_ns


def _create_table(connection: apsw.Connection) -> None:
    """Create the table unless it exists in this version."""
    if connection.pragma("user_version") != VERSION:
        with WriteTransaction(connection):
            connection.execute(f"{_TABLE} PRAGMA user_version={VERSION}")
