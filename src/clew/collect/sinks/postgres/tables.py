"""A sink that is a PostgreSQL database, for many hosts: every line once, and what the files amount to.

A batch and the place behind it are one transaction. The rows have names that last, so a batch whose outcome is unknown is
sent again and changes nothing. The facts of a file replace those that it had, unless newer ones are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.collect.sinks.postgres.connection import SCHEMA_VERSION, Connection, PostgresConnection
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable, FileFacts
from clew.collect.sql.line_rows import LINE, line_row
from clew.errors import StoreError

_ARRAYS = {"text": "text[]", "number": "bigint[]", "number or nothing": "bigint[]"}
_HOST = """
INSERT INTO clew.host AS h (host, seq) VALUES (%s, %s)
ON CONFLICT (host) DO UPDATE SET seq = greatest(h.seq, excluded.seq), seen = now()
"""


def _insert(table: FactTable, extra: str = "") -> str:
    """An insertion of whole columns, each an array: one statement for any number of rows."""
    more = ", %b::bytea[]" if extra else ""
    arrays = ", ".join(f"%b::{_ARRAYS[type]}" for type in table.columns.values())
    names = f"{table.names}, {extra}" if extra else table.names
    return f"INSERT INTO clew.{table.name} ({names}) SELECT * FROM unnest({arrays}{more})"


_INSERT_LINES = f"{_insert(LINE, 'raw')} ON CONFLICT DO NOTHING"
_INSERTS = {table.name: f"{_insert(table)} ON CONFLICT DO NOTHING" for table in TABLES if table is not FILE}
_SET = ", ".join(f"{column} = excluded.{column}" for column in FILE.columns if column not in FILE.key)
_UPSERT_FILE = f"""
INSERT INTO clew.fact_file AS f ({FILE.names}) VALUES ({", ".join(["%s"] * len(FILE.columns))})
ON CONFLICT (host, file) DO UPDATE SET {_SET} WHERE f.seq <= excluded.seq RETURNING 1
"""


class PostgresLines:
    """Takes records. `link` is shared with the facts, and closed here."""

    leaves = True

    def __init__(self, link: PostgresConnection) -> None:
        self.name = link.name
        self.link = link
        self._days: set[str] = {""}
        self._is_checked = False

    def write(self, records: Sequence[Record]) -> None:
        rows = [(*line_row(each), each.raw) for each in records]
        with self.link.use() as connection:
            self._check(connection)
            days = sorted({str(row[4]) for row in rows} - self._days)
            if days:
                connection.execute("SELECT clew.make_days(%s)", (days,))
                self._days |= set(days)
            with connection.transaction():
                connection.execute(_INSERT_LINES, _arrays(rows))
                connection.execute(_HOST, (records[0].host, records[-1].seq))

    def _check(self, connection: Connection) -> None:
        if self._is_checked:
            return
        row = connection.execute("SELECT value FROM clew.about WHERE name = 'version'").fetchone()
        if row != (str(SCHEMA_VERSION),):
            raise StoreError(
                f"{self.name} has tables of another version of clew.",
                "version",
                False,
                hint="Bring the tables up to date: clew collect setup --to postgresql://…",
            )
        self._is_checked = True

    def close(self) -> None:
        self.link.close()


class PostgresFacts:
    """Takes what files amount to, over the link of the lines."""

    leaves = True

    def __init__(self, link: PostgresConnection) -> None:
        self.name = f"{link.name}#facts"
        self.link = link

    def write(self, batch: Sequence[FileFacts]) -> None:
        with self.link.use() as connection, connection.transaction():
            for facts in batch:
                self._replace(connection, facts)

    def _replace(self, connection: Connection, facts: FileFacts) -> None:
        """The row of the file comes first: it keeps out another that writes the same, and tells whether these are newer."""
        [file] = facts.rows[FILE.name]
        if connection.execute(_UPSERT_FILE, file).fetchone() is None:
            return
        for table, insert in _INSERTS.items():
            connection.execute(f"DELETE FROM clew.{table} WHERE host = %s AND file = %s", (facts.host, facts.file))
            if rows := facts.rows[table]:
                connection.execute(insert, _arrays(rows))

    def close(self) -> None:
        pass


def _arrays(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
