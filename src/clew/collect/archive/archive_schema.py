"""Create and open the archive: a SQLite file with every line of every session.

A **file** is a path below a root. Each time its earlier content turns out to have changed, a new **generation**
begins; older generations stay. A generation is a sequence of **occurrences**, each a **content** at an offset: a
line without its newline, or a whole side file. A content is stored once, however often it occurs; those that are
read together share a **pack**, which is compressed as one. Rows and offsets are written in one transaction, and a
commit is on the disk before it returns.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import apsw

from clew.collect.archive.archive_upgrade import (
    APPLICATION,
    VERSION,
    add_version_views,
    read_version,
    register_functions,
    upgrade,
)
from clew.errors import StoreError
from clew.system.sqlite_file import BUSY_MS, WriteTransaction, enable_wal, run_pragmas

_TABLES = """
CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE root(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE file(
  id INTEGER PRIMARY KEY, root INTEGER NOT NULL REFERENCES root, path TEXT NOT NULL,
  kind TEXT NOT NULL, project TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
  generation INTEGER REFERENCES generation,
  dev INTEGER NOT NULL DEFAULT 0, ino INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT -1,
  mtime INTEGER NOT NULL DEFAULT 0, ctime INTEGER NOT NULL DEFAULT 0, trust INTEGER NOT NULL DEFAULT 0,
  first_seen INTEGER NOT NULL, scrubbed INTEGER NOT NULL, gone INTEGER,
  UNIQUE(root, path)
) STRICT;
CREATE INDEX file_session ON file(session);
CREATE TABLE alias(file INTEGER NOT NULL REFERENCES file, path TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
CREATE TABLE generation(
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES file, number INTEGER NOT NULL,
  reason TEXT NOT NULL, began INTEGER NOT NULL,
  offset INTEGER NOT NULL DEFAULT 0, lines INTEGER NOT NULL DEFAULT 0,
  chain BLOB NOT NULL, head BLOB NOT NULL DEFAULT x'', tail BLOB NOT NULL DEFAULT x'',
  rest BLOB NOT NULL DEFAULT x'', is_stub INTEGER NOT NULL DEFAULT 0, mtime INTEGER NOT NULL DEFAULT 0,
  sum INTEGER NOT NULL DEFAULT 0,
  UNIQUE(file, number)
) STRICT;
CREATE TABLE content(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, packing INTEGER NOT NULL,
  rules INTEGER NOT NULL, masked INTEGER NOT NULL, data BLOB, pack INTEGER, start INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE pack(id INTEGER PRIMARY KEY, size INTEGER NOT NULL, packing INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
CREATE TABLE occurrence(
  seq INTEGER PRIMARY KEY, generation INTEGER NOT NULL REFERENCES generation, offset INTEGER NOT NULL,
  number INTEGER NOT NULL, length INTEGER NOT NULL, content INTEGER NOT NULL REFERENCES content,
  sum INTEGER NOT NULL DEFAULT 0,
  UNIQUE(generation, offset)
) STRICT;
CREATE TABLE quarantine(
  generation INTEGER NOT NULL REFERENCES generation, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  kind TEXT NOT NULL, reason TEXT NOT NULL, salvaged TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY(generation, offset)
) STRICT, WITHOUT ROWID;
CREATE TABLE sink(
  name TEXT PRIMARY KEY, seq INTEGER NOT NULL,
  head INTEGER NOT NULL DEFAULT 0, mark INTEGER NOT NULL DEFAULT 0, host TEXT NOT NULL DEFAULT '',
  store TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE sink_mark(
  sink TEXT NOT NULL, seq INTEGER NOT NULL, mark INTEGER NOT NULL, PRIMARY KEY(sink, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE epoch(host TEXT PRIMARY KEY, parent TEXT NOT NULL, began INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE TABLE erased(
  kind TEXT NOT NULL, value TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY(kind, value)) STRICT, WITHOUT ROWID;
CREATE TABLE rejected(
  sink TEXT NOT NULL, seq INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY(sink, seq)) STRICT, WITHOUT ROWID;
"""
_PRAGMAS = (
    "PRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA checkpoint_fullfsync=1; "
    "PRAGMA cache_size=-8000; PRAGMA journal_size_limit=64000000"
)
_PAGE_BYTES = 8 << 10
"""Of a new archive. Larger ones need fewer calls to write packs, but more bytes for a line that is appended (measured)."""
_LOG_BYTES = 64 << 20  # of the write-ahead log, from which on it is copied into the file


def open_archive(path: str, *, vfs: str | None = None) -> apsw.Connection:
    """Open the archive at a path. A new one is created readable by its owner only, before it has any content."""
    create_private(path)
    connection = apsw.Connection(path, vfs=vfs)
    connection.set_busy_timeout(BUSY_MS)
    try:
        _prepare(connection, path, vfs)
    except (apsw.Error, OSError, StoreError):
        connection.close()
        raise
    return connection


def _prepare(connection: apsw.Connection, path: str, vfs: str | None) -> None:
    register_functions(connection)
    if (version := read_version(connection)) == 0:
        connection.pragma("page_size", _PAGE_BYTES)  # no effect on a file that has pages
        with WriteTransaction(connection):
            _create(connection)
    elif version < VERSION:
        upgrade(connection, path, vfs)
    enable_wal(connection)
    run_pragmas(connection, _PRAGMAS)
    connection.wal_autocheckpoint(_LOG_BYTES // int(connection.pragma("page_size")))


def open_read_only(path: str) -> apsw.Connection:
    """Open an existing archive for queries, also one of an earlier version or on a read-only file system.

    Raises FileNotFoundError if there is none.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(2, "There is no archive; create one with: clew collect", path)
    connection = _connect_reader(path)
    try:
        version = read_version(connection)
        if version == 0:
            raise StoreError(f"{path} is not an archive of clew.", "version", False)
        add_version_views(connection, version)
        connection.execute("PRAGMA query_only=1")
    except (apsw.Error, StoreError):
        connection.close()
        raise
    return connection


def _connect_reader(path: str) -> apsw.Connection:
    """Connect to an archive. Readers of a WAL need its index, which cannot be created on a read-only file system."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_MS)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except (apsw.ReadOnlyError, apsw.CantOpenError):
        connection.close()
        if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
            raise
    except apsw.Error:
        connection.close()
        raise
    else:
        return connection
    location = f"{Path(path).absolute().as_uri()}?immutable=1"
    return apsw.Connection(location, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def create_private(path: str) -> None:
    """Create an empty file that only its owner can read, and its folder, unless they exist."""
    Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    if sys.platform != "win32":  # make the directory entry survive a power failure
        folder = os.open(Path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def load_key(path: str) -> bytes:
    """Return the key of an archive, creating it at first use; without it no fingerprint matches and all files are
    read again.
    """
    create_private(path)
    with open(path, "r+b") as file:
        key = file.read(32)
        if len(key) < 32:
            key = os.urandom(32)
            file.seek(0)
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    return key


_LAST_NUMBERS = {"last_seq": "SELECT max(seq) FROM occurrence", "last_file": "SELECT max(id) FROM file"}


def last_number(connection: apsw.Connection, name: str) -> int:
    """Return the highest number of a line (`last_seq`) or a file (`last_file`) that was ever given."""
    query = (
        f"SELECT max(coalesce(({_LAST_NUMBERS[name]}), 0), coalesce((SELECT value + 0 FROM about WHERE name = ?), 0))"
    )
    return int(connection.execute(query, (name,)).get)


def reserve_numbers(connection: apsw.Connection) -> None:
    """Remember the highest numbers before rows are deleted: stores know lines by them, so none is given twice."""
    for name in _LAST_NUMBERS:
        connection.execute("INSERT OR REPLACE INTO about VALUES(?, ?)", (name, str(last_number(connection, name))))


def _create(connection: apsw.Connection) -> None:
    if read_version(connection) == VERSION:  # another process created it meanwhile
        return
    if connection.pragma("user_version") or connection.execute("SELECT count(*) FROM sqlite_schema").get:
        raise StoreError("The file is not an archive of clew and was not changed.", "version", False)
    connection.execute(_TABLES)
    connection.execute("INSERT INTO about VALUES('host', ?)", (os.urandom(16).hex(),))
    connection.pragma("application_id", APPLICATION)
    connection.pragma("user_version", VERSION)
