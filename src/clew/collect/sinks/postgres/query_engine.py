"""Query a PostgreSQL store in a read-only transaction, with streamed rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import psycopg

from clew.collect.sinks.postgres.connection import Connection, PostgresConnection
from clew.collect.sinks.postgres.roles import NUMBERS_SCHEMA
from clew.collect.sql.query_result import QueryResult, build_result, query_error, timeout_error

_FETCH_ROWS = 1000  # rows per fetch
_QUERY_ERRORS = ("42", "22", "25", "0A", "34")  # SQLSTATE classes for mistakes in the query
_STORE_ERRORS = ("42501", "42P17")  # exceptions: permissions of the user
_SYNTAX = "42601"
_CANCELLED = "57014"
_QUERY_STARTS = ("select", "with", "values", "table", "(", "-", "/")


class PostgresEngine:
    """Queries the views of a store."""

    def __init__(self, link: PostgresConnection, timeout: float = inf) -> None:
        self.link = link
        self.timeout = timeout

    @contextmanager
    def run(self, query: str) -> Iterator[QueryResult]:
        """Run one query. A cursor accepts only a query, a prepared statement only one, and nothing is committed."""
        opening = "DECLARE answer NO SCROLL CURSOR FOR "
        with self.link.use() as connection, connection.transaction(force_rollback=True):
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute(f"SET LOCAL search_path TO {_search_path(connection)}".encode())
            connection.execute("SELECT 1 FROM about")
            if self.timeout < inf:
                connection.execute(f"SET LOCAL statement_timeout = {max(1, round(1000 * self.timeout))}")
            try:
                connection.execute(f"{opening}{query.strip().rstrip(';')}".encode(), prepare=True)
                cursor = connection.execute(f"FETCH {_FETCH_ROWS} FROM answer")
                yield build_result([column.name for column in cursor.description or ()], _rows(connection, cursor))
            except psycopg.Error as error:
                code = error.sqlstate or ""
                if code == _CANCELLED and self.timeout < inf:
                    raise timeout_error(self.timeout) from None
                if not code.startswith(_QUERY_ERRORS) or code in _STORE_ERRORS:
                    raise
                if code == _SYNTAX and not query.lstrip().lower().startswith(_QUERY_STARTS):
                    raise query_error(query, 0, "Only read-only queries are allowed") from None
                at = int(error.diag.statement_position or len(opening) + 1) - 1 - len(opening)
                raise query_error(query, at, error.diag.message_primary or "The query failed") from None


def _search_path(connection: Connection) -> str:
    """Return the schemas to read: a reader of numbers finds the views without contents first."""
    row = connection.execute("SELECT has_column_privilege('clew.fact_turn', 'prompt', 'SELECT')").fetchone()
    return "clew" if row == (True,) else f"{NUMBERS_SCHEMA}, clew"


def _rows(connection: Connection, cursor: psycopg.Cursor[Any]) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchall():
        yield from rows
        cursor = connection.execute(f"FETCH {_FETCH_ROWS} FROM answer")
