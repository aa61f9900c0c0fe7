"""Databases: what every SQLite file of clew's needs, whether it is a cache or the archive.

A search begins here too, so nothing heavy is imported.
"""

from __future__ import annotations

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

BUSY_MS = 5000
DAMAGE = (apsw.CorruptError, apsw.NotADBError)
# A cache that cannot be read or written: no such folder, no permission, a file system that is read-only or full.
UNUSABLE = (OSError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError, apsw.PermissionsError)


class Writing:
    """A transaction that waits for another writer at its beginning, not at its end."""

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


def settle(connection: apsw.Connection, pragmas: str) -> None:
    """Run pragmas to the last one: a statement that answers with a row keeps those behind it waiting until it is read."""
    for _ in connection.execute(pragmas):
        pass


def empty(connection: apsw.Connection) -> None:
    """Empty a database, whatever is in it, under SQLite's own locks: others that have it open see an empty one."""
    connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
    try:
        connection.execute("VACUUM")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)
