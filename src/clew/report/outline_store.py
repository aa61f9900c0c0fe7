"""Cache what lists show of session files, so that only changed ones are read again. The cache can be deleted at any time.

What is known of a file is valid for one state (inode, size and time) of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from types import TracebackType
from typing import Any
from zlib import crc32

import apsw
from msgspec import MsgspecError, Struct, json, msgpack
from msgspec.structs import asdict

from clew.conversation.session_listing import Outline
from clew.report.usage_summary import cache_folder
from clew.system.sqlite_file import DAMAGE, UNUSABLE, WriteTransaction, open_cache
from clew.wire.content_time import Times, read_last_times, sort_key
from clew.wire.layout import SessionFile

VERSION = 2
_TABLE = """
DROP TABLE IF EXISTS outline;
CREATE TABLE outline(
  path TEXT PRIMARY KEY, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, crc INTEGER NOT NULL,
  data BLOB NOT NULL
) WITHOUT ROWID;
"""
_SELECT = "SELECT path, inode, size, mtime, crc, data FROM outline"
_INSERT = "INSERT OR REPLACE INTO outline VALUES(?,?,?,?,?,?)"
_LARGEST = (1 << 63) - 1  # largest integer that a database stores
_LOADED_TOGETHER = 100  # rows
_SAVED_TOGETHER = 10_000  # rows: those of a list are spread over the table, so that few of them change many pages
_FileState = tuple[int, int, int]  # inode, size, time
_Row = tuple[int, int, int, bytes]  # the state of a file, and what is stored of it


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
    """The outlines of the sessions in a folder of Claude Code.

    What was read is stored as it comes, and at the end of a `with` block. Little is held, because there can be 100,000
    sessions: the rows of one folder while its files are sorted, and those that are not stored yet.
    """

    def __init__(self, root: str, cache: str | None) -> None:
        """Open the store in a cache folder. Without one, or if it cannot be used, nothing is stored."""
        self._unsaved: dict[str, _Row] = {}
        self._loaded: dict[str, _Row | None] = {}
        self._folder = ""
        self._has_changed = False
        self._database: apsw.Connection | None = None
        try:
            self._database = open_cache(cache_folder(root, cache) if cache else None, "outlines.db", _create_table)
        except (*UNUSABLE, *DAMAGE, apsw.BusyError):
            return

    def __enter__(self) -> OutlineStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._save()
        if self._has_changed:
            self._remove_deleted()
        self._close()

    def _close(self) -> None:
        """Use the database no more; what is read from here on is held."""
        if self._database is not None:
            self._database.close()
        self._database = None

    def _query(self, statement: str, *values: str) -> dict[str, _Row]:
        """Return rows by their path; those that were changed outside clew are left out."""
        if self._database is None:
            return {}
        try:
            rows: list[Any] = self._database.execute(statement, values).fetchall()
        except (*UNUSABLE, *DAMAGE, apsw.BusyError):
            self._close()
            return {}
        return {path: (*state, data) for path, *state, check, data in rows if crc32(data) == check}

    def load_rows(self, files: Iterator[SessionFile]) -> Iterator[SessionFile]:
        """Yield files whose outlines are asked for next: their rows are found some at a time, which is faster."""
        while batch := list(islice(files, _LOADED_TOGETHER)):
            self._load_files(list(map(_key, batch)))
            yield from batch

    def _load_files(self, paths: list[str]) -> None:
        rows = self._query(f"{_SELECT} WHERE path IN (SELECT value FROM json_each(?))", json.encode(paths).decode())
        self._loaded, self._folder = {path: rows.get(path) for path in paths}, ""

    def _load_folder(self, folder: str) -> None:
        rows = self._query(f"{_SELECT} WHERE path>? AND path<?", folder, f"{folder}\U0010ffff")
        self._loaded, self._folder = dict(rows), folder

    def _read(self, file: SessionFile) -> _Stored:
        """Return what is stored of a file in its present state, else its times."""
        row = self._unsaved.get(_key(file)) or self._loaded.get(_key(file))
        if row is not None and row[:3] == _state(file):
            try:
                return _DECODE(row[3])
            except MsgspecError:  # of another shape: it is read again
                pass
        stored = _Stored(read_last_times(file))
        self._keep(file, stored)
        return stored

    def _keep(self, file: SessionFile, stored: _Stored) -> None:
        self._unsaved[_key(file)] = (*_state(file), msgpack.encode(stored))
        if len(self._unsaved) >= _SAVED_TOGETHER and self._database is not None:
            self._save()

    def sort_key(self, file: SessionFile) -> tuple[float, float, str]:
        """Return the key that sorts files newest first (`wire.content_time`). Ask for the files of a folder in a row."""
        folder = _key(file).removesuffix(os.path.basename(_key(file)))
        if folder != self._folder:
            self._load_folder(folder)
        return sort_key(file, self._read(file).times)

    def outline(self, file: SessionFile) -> Outline:
        """Return the outline of a session with everything that a list shows. Raises OSError for a file that cannot be
        read.
        """
        if _key(file) not in self._loaded:
            self._load_files([_key(file)])
        stored, outline = self._read(file), Outline(file)
        vars(outline)["times"] = stored.times
        if stored.facts is None:
            stored.facts = ListedFacts(*(getattr(outline, name) for name in ListedFacts.__struct_fields__))
            self._keep(file, stored)
        else:
            vars(outline).update(asdict(stored.facts))
        return outline

    def _save(self) -> None:
        """Store what was read; if that is not possible, the next list reads the files again."""
        if self._database is None or not self._unsaved:
            return
        try:
            with WriteTransaction(self._database):
                for path, (*state, data) in self._unsaved.items():
                    stored = _DECODE(data)
                    if stored.facts or stored.times[0]:  # else it may be unreadable, which its time does not tell
                        self._database.execute(_INSERT, (path, *state, crc32(data), data))
        except (*UNUSABLE, *DAMAGE, apsw.BusyError):
            self._close()
        else:
            self._unsaved.clear()
            self._has_changed = True

    def _remove_deleted(self) -> None:
        """Remove the rows of files that do not exist any more."""
        if self._database is None:
            return
        try:
            paths = (path for (path,) in self._database.execute("SELECT path FROM outline"))
            gone = [(path,) for path in paths if not os.path.exists(path)]
            with WriteTransaction(self._database):
                self._database.executemany("DELETE FROM outline WHERE path=?", gone)
        except (*UNUSABLE, *DAMAGE, apsw.BusyError):
            return


def _key(file: SessionFile) -> str:
    """Return the path of a file as a database can store it. A name that is not UTF-8 becomes another one: its state, with
    the inode, tells it apart from a file that has that name.
    """
    path = file.location
    return path if path.isascii() else path.encode(errors="backslashreplace").decode()


def _state(file: SessionFile) -> _FileState:
    return file.inode & _LARGEST, file.size, file.mtime_ns


def _create_table(connection: apsw.Connection) -> None:
    """Create the table unless it exists in this version."""
    if connection.pragma("user_version") != VERSION:
        with WriteTransaction(connection):
            connection.execute(f"{_TABLE} PRAGMA user_version={VERSION}")
