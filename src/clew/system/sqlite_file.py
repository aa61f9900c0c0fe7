"""Share the SQLite basics of all caches and of the archive: transactions, pragmas, reset.

Every search starts here, so imports are light.
"""

from __future__ import annotations

import os
import time

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

BUSY_MS = 5000
_RETRY_SECONDS = 0.005
DAMAGE = (apsw.CorruptError, apsw.NotADBError)
# A cache that cannot be read or written: no such folder, no permission, a file system that is read-only or full.
UNUSABLE = (OSError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError, apsw.PermissionsError)


class WriteTransaction:
    """A transaction that waits for other writers when it begins, not when it commits."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    def __enter__(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.connection.execute("COMMIT")
        elif self.connection.in_transaction:
            self.connection.execute("ROLLBACK")


class ReadTransaction:
    """A transaction in which several databases are read; without it each statement takes and releases its own locks."""

    def __init__(self, connections: Sequence[apsw.Connection]) -> None:
        self.connections = connections

    def __enter__(self) -> None:
        for connection in self.connections:
            connection.execute("BEGIN")

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self.connections:
            if connection.in_transaction:
                connection.execute("ROLLBACK" if kind else "COMMIT")


def enable_wal(connection: apsw.Connection) -> None:
    """Switch to a write-ahead log. If another connection is switching too, SQLite fails without its usual wait."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def run_pragmas(connection: apsw.Connection, pragmas: str) -> None:
    """Run pragmas to the last one: a statement that returns a row blocks the following ones until it is read."""
    for _ in connection.execute(pragmas):
        pass


def reset_database(connection: apsw.Connection) -> None:
    """Empty a database of any content under SQLite's locks: other connections see an empty database."""
    connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
    try:
        connection.execute("VACUUM")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)


def open_cache(folder: str | None, name: str, create: Callable[[apsw.Connection], object]) -> apsw.Connection:
    """Open a cache that can be rebuilt, readable by its owner alone; in memory without a folder.

    `create` makes the tables unless they exist; a damaged file is emptied first.
    """
    path = os.path.join(folder, name) if folder else ":memory:"
    if folder:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    is_missing = folder is not None and not os.path.exists(path)
    connection = apsw.Connection(path)
    connection.set_busy_timeout(BUSY_MS)
    if is_missing:
        os.chmod(path, 0o600)
    try:
        create(connection)
    except DAMAGE:
        reset_database(connection)
        create(connection)
    connection.execute("PRAGMA synchronous=OFF")
    return connection
