"""Query a lake on one machine with DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Timer
from typing import Any

from clew.collect.sinks.lake.delta_tables import Lake, lake_columns
from clew.collect.sinks.lake.newest_facts import NEWEST, newest_facts_sql, newest_versions_sql
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable
from clew.collect.sql.query_result import QueryResult, build_result, query_error, timeout_error
from clew.collect.sql.views import CAST_DATE, MOVED, build_views, moved_sql
from clew.errors import StoreError
from clew.system.extras import install_hint

try:
    import duckdb
    from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem
except ImportError:
    raise StoreError(
        "duckdb is needed for this and not installed.", "extra", False, hint=install_hint("data")
    ) from None

_FETCH_ROWS = 1000  # rows per fetch


class DuckTables:
    """The tables of a lake in a DuckDB connection: all rows as `told_…`, and the current facts under their names."""

    def __init__(self, lake: Lake) -> None:
        self.connection = duckdb.connect()
        self.lake = lake
        self.columns = {table.name: self._register(table) for table in TABLES}
        self.connection.execute(f"CREATE VIEW {NEWEST} AS {newest_versions_sql(self.columns[FILE.name])}")

    def add_newest(self) -> None:
        """Create the views of the current facts."""
        for table in TABLES:
            text = newest_facts_sql(table, self.columns[table.name])
            self.connection.execute(f"CREATE VIEW {table.name} AS {text}")

    def close(self) -> None:
        self.connection.close()

    def _register(self, table: FactTable) -> set[str]:
        existing = self.lake.existing(table.name)
        if existing is None:
            empty = ", ".join(
                f"CAST(NULL AS {'VARCHAR' if type == 'text' else 'BIGINT'}) AS {name}"
                for name, type in lake_columns(table.name).items()
            )
            self.connection.execute(f"CREATE VIEW told_{table.name} AS SELECT {empty} WHERE 1 = 0")
            return set(lake_columns(table.name))
        with self.lake.translate_errors():
            rows = existing.to_pyarrow_dataset(filesystem=self._filesystem(table.name))
        self.connection.register(f"told_{table.name}", rows)
        return set(rows.schema.names)

    def _filesystem(self, name: str) -> FileSystem | None:
        """Return the file system of a local table.

        The default one of deltalake is written in Python. Its threads need the interpreter lock, which a thread of DuckDB
        can hold while it waits for them; such a query never ends.
        """
        return None if self.lake.options else SubTreeFileSystem(self.lake.uri(name), LocalFileSystem())


class DuckEngine:
    """Queries the views of a lake. DuckDB can access nothing but the registered tables."""

    def __init__(self, lake: Lake, timeout: float = inf) -> None:
        self.timeout = timeout
        self.lake = lake
        tables = DuckTables(lake)
        tables.add_newest()
        self.connection = tables.connection
        for name in MOVED:  # of the other days only the keys are read
            self.connection.execute(f"CREATE TABLE {name} AS {moved_sql(name)}")
        moved = [name for name in MOVED if self.connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall()]
        for name, text in build_views(CAST_DATE, moved).items():
            self.connection.execute(f"CREATE VIEW {name} AS {text}")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    @contextmanager
    def run(self, query: str) -> Iterator[QueryResult]:
        try:
            statements = self.connection.extract_statements(query)
            if len(statements) != 1:
                raise query_error(query, 0, "Only one statement is allowed" if statements else "The query is empty")
            if statements[0].type != duckdb.StatementType.SELECT:
                raise query_error(query, 0, "Only read-only queries are allowed")
            with self._time_limit():
                cursor = self.connection.execute(query)
                names = [str(column[0]) for column in cursor.description or ()]
                yield build_result(names, self._rows(cursor))
        except duckdb.InterruptException:
            raise timeout_error(self.timeout) from None
        except duckdb.IOException as error:
            raise StoreError(f"{self.lake.name} failed: {error}.", "io", True) from error
        except duckdb.Error as error:
            raise query_error(query, 0, str(error).split("\n", 1)[0]) from None

    @contextmanager
    def _time_limit(self) -> Iterator[None]:
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
        while rows := cursor.fetchmany(_FETCH_ROWS):
            yield from rows

    def close(self) -> None:
        self.connection.close()
