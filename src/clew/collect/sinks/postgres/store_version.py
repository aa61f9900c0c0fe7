"""The versions of a PostgreSQL store, and which versions of clew may send to it.

The tables have a version (`schema`), and the store names the oldest version of clew that may send (`oldest_writer`). New
columns have defaults, so an older host leaves them out; a newer host sends to an older store only the columns that it has.
Released hosts before version 5 compare `version` with their own number; it stays at that of the first release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.collect.retention import Retention
from clew.collect.sql.fact_tables import FactTable
from clew.errors import StoreError

if TYPE_CHECKING:
    from clew.collect.sinks.postgres.connection import Connection

SCHEMA_VERSION = 5
OLDEST_WRITER = 3  # the oldest version whose hosts may send to these tables: the first release
OLDEST_STORE = 3  # the oldest tables that this version sends to
_COLUMNS = """
SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'clew'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
"""


class StoreLayout(NamedTuple):
    """The version of a store, and the columns of its tables."""

    version: int
    columns: Mapping[str, frozenset[str]]
    retention: str = ""
    """What the store keeps and for how long; empty if it keeps everything."""

    def has(self, table: str, column: str) -> bool:
        return column in self.columns.get(table, ())

    def fit(self, table: FactTable) -> FactTable:
        """Return a table with the columns that the store has."""
        columns = {name: type for name, type in table.columns.items() if self.has(table.name, name)}
        return table if len(columns) == len(table.columns) else table._replace(columns=columns)


def read_layout(connection: Connection, name: str) -> StoreLayout:
    """Read the layout of a store. Raises StoreError if this version of clew may not send to it."""
    about = dict(connection.execute("SELECT name, value FROM clew.about").fetchall())
    version = int(about.get("schema") or about.get("version") or 0)
    oldest = int(about.get("oldest_writer") or 0)
    if version < OLDEST_STORE:
        hint = "Update the tables: clew collect setup --to postgresql://…"
        reason = f"{version}; this one sends to {OLDEST_STORE} and newer"
        raise StoreError(f"{name} has tables of another version of clew: {reason}.", "version", False, hint=hint)
    if oldest > SCHEMA_VERSION:
        raise StoreError(
            f"{name} accepts version {oldest} of the tables and newer; this program writes version {SCHEMA_VERSION}.",
            "version",
            False,
            hint="Update clew on this machine; what waits stays in the archive.",
        )
    columns: dict[str, set[str]] = {}
    for table, column in connection.execute(_COLUMNS).fetchall():
        columns.setdefault(table, set()).add(column)
    retention = Retention.read(about).describe()
    return StoreLayout(version, {table: frozenset(names) for table, names in columns.items()}, retention)


def pick_columns(rows: Sequence[tuple[Any, ...]], source: FactTable, target: FactTable) -> list[list[Any]]:
    """Return the values of rows by column, for the columns of `target`; rows may have more values than `source` names."""
    values = [list(column) for column in zip(*rows, strict=True)]
    kept = [value for name, value in zip(source.columns, values, strict=False) if name in target.columns]
    return [*kept, *values[len(source.columns) :]]
