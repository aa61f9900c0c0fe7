"""Asking a PostgreSQL store: one query in a transaction that the server keeps from writing, its rows as they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import psycopg

from clew.collect.sinks.postgres.connection import Connection, PostgresConnection
from clew.collect.sql.query_result import QueryResult, bad_query, result, too_slow

_STEP = 1000  # rows that are fetched at a time
_MISTAKES = ("42", "22", "25", "0A", "34")  # of whoever wrote the query: its words, its values, or what it wants to do
_STORE = ("42501", "42P17")  # but for what the server does not allow this user
_SYNTAX = "42601"
_CANCELLED = "57014"
_READING = ("select", "with", "values", "table", "(", "-", "/")


class PostgresEngine:
    """Asks the views of a store."""

    def __init__(self, link: PostgresConnection, timeout: float = inf) -> None:
        self.link = link
        self.timeout = timeout

    @contextmanager
    def run(self, query: str) -> Iterator[QueryResult]:
        """A cursor takes nothing but a query, a prepared statement no second one behind it, and nothing is committed."""
        opening = "DECLARE answer NO SCROLL CURSOR FOR "
        with self.link.use() as connection, connection.transaction(force_rollback=True):
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute("SET LOCAL search_path TO clew")
            connection.execute("SELECT 1 FROM about")
            if self.timeout < inf:
                connection.execute(f"SET LOCAL statement_timeout = {max(1, round(1000 * self.timeout))}")
            try:
                connection.execute(f"{opening}{query.strip().rstrip(';')}".encode(), prepare=True)
                cursor = connection.execute(f"FETCH {_STEP} FROM answer")
                yield result([column.name for column in cursor.description or ()], _rows(connection, cursor))
            except psycopg.Error as error:
                code = error.sqlstate or ""
                if code == _CANCELLED and self.timeout < inf:
                    raise too_slow(self.timeout) from None
                if not code.startswith(_MISTAKES) or code in _STORE:
                    raise
                if code == _SYNTAX and not query.lstrip().lower().startswith(_READING):
                    raise bad_query(query, 0, "Only reading is possible") from None
                at = int(error.diag.statement_position or len(opening) + 1) - 1 - len(opening)
                raise bad_query(query, at, error.diag.message_primary or "It cannot be asked") from None


def _rows(connection: Connection, cursor: psycopg.Cursor[Any]) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchall():
        yield from rows
        cursor = connection.execute(f"FETCH {_STEP} FROM answer")
