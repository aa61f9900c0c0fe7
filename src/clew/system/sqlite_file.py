"""Share the SQLite basics of all caches and of the archive: transactions, pragmas, reset.

Every search starts here, so imports are light.
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
