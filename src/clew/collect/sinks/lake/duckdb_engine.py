"""Asking a lake on one machine: DuckDB over the files that each table has now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Timer
from typing import Any

from clew.collect.sinks.lake.delta_tables import Lake, columns
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable
from clew.collect.sql.query_result import QueryResult, bad_query, result, too_slow
from clew.collect.sql.views import VIEWS
from clew.errors import StoreError

try:
    import duckdb
except ImportError:
    raise StoreError(
        "duckdb is needed for this and not installed.", "extra", False, hint="Install it: pip install 'clew[lake]'"
    ) from None

_STEP = 1000  # rows that are fetched at a time
_OTHERWISE = {"text": "''", "number": "0", "number or nothing": "NULL"}  # for a column that older rows do not have
_KEPT = "telling"


def told(table: FactTable, there: set[str]) -> str:
    """The newest telling of each file, as the text of a view over `told_…`, with all columns whatever the rows lack."""
    shown = ", ".join(f"{_column(name, type, there)} AS {name}" for name, type in table.columns.items())
    if table is FILE:
        newest = "row_number() OVER (PARTITION BY host, file ORDER BY seq DESC, made DESC)"
        inner = ", ".join(sorted(there))
        return (
            f"SELECT {shown} FROM (SELECT {inner}, {newest} AS {_KEPT} FROM told_{table.name}) AS t WHERE {_KEPT} = 1"
        )
    newest = (
        "SELECT host, file, seq, made FROM (SELECT host, file, seq, made, row_number() OVER "
        f"(PARTITION BY host, file ORDER BY seq DESC, made DESC) AS {_KEPT} FROM told_{FILE.name}) AS f WHERE {_KEPT} = 1"
    )
    same = " AND ".join(f"t.{name} = n.{name}" for name in ("host", "file", "seq", "made"))
    return f"SELECT {shown} FROM told_{table.name} AS t JOIN ({newest}) AS n ON {same}"


def _column(name: str, type: str, there: set[str]) -> str:
    if name not in there:
        return _OTHERWISE[type]
    return f"coalesce(t.{name}, {_OTHERWISE[type]})" if _OTHERWISE[type] != "NULL" else f"t.{name}"


class DuckEngine:
    """Asks the views of a lake. DuckDB may reach nothing but the tables that it was given."""

    def __init__(self, lake: Lake, timeout: float = inf) -> None:
        self.connection = duckdb.connect()
        self.timeout = timeout
        self.lake = lake
        for table in TABLES:
            self._add(table)
        for name, text in VIEWS.items():
            self.connection.execute(f"CREATE VIEW {name} AS {text}")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def _add(self, table: FactTable) -> None:
        found = self.lake.existing(table.name)
        if found is None:
            empty = ", ".join(
                f"CAST(NULL AS {'VARCHAR' if type == 'text' else 'BIGINT'}) AS {name}"
                for name, type in columns(table.name).items()
            )
            self.connection.execute(f"CREATE VIEW told_{table.name} AS SELECT {empty} WHERE 1 = 0")
            there = set(columns(table.name))
        else:
            with self.lake.explained():
                rows = found.to_pyarrow_dataset()
            there = set(rows.schema.names)
            self.connection.register(f"told_{table.name}", rows)
        self.connection.execute(f"CREATE VIEW {table.name} AS {told(table, there)}")

    @contextmanager
    def run(self, query: str) -> Iterator[QueryResult]:
        try:
            statements = self.connection.extract_statements(query)
            if len(statements) != 1:
                raise bad_query(
                    query, 0, "Only one statement can be asked at a time" if statements else "Nothing is asked"
                )
            if statements[0].type != duckdb.StatementType.SELECT:
                raise bad_query(query, 0, "Only reading is possible")
            with self._limited():
                cursor = self.connection.execute(query)
                names = [str(column[0]) for column in cursor.description or ()]
                yield result(names, self._rows(cursor))
        except duckdb.InterruptException:
            raise too_slow(self.timeout) from None
        except duckdb.IOException as error:
            raise StoreError(f"{self.lake.name} failed: {error}.", "io", True) from error
        except duckdb.Error as error:
            raise bad_query(query, 0, str(error).split("\n", 1)[0]) from None

    @contextmanager
    def _limited(self) -> Iterator[None]:
        timer = Timer(self.timeout, self.connection.interrupt) if self.timeout < inf else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    def _rows(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
        while rows := cursor.fetchmany(_STEP):
            yield from rows

    def close(self) -> None:
        self.connection.close()
