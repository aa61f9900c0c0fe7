"""Open a query engine for the archive, or for a store given by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from clew.collect.archive.reader import archive_path
from clew.collect.archive.sqlite_errors import translate_errors
from clew.collect.sql.archive_engine import Progress, open_archive_engine
from clew.collect.sql.query_result import QueryEngine
from clew.errors import StoreError


@contextmanager
def open_engine(
    store: str | None = None,
    *,
    archive: str | None = None,
    password: str = "",
    progress: Progress | None = None,
    engine: str = "duckdb",
    timeout: float = inf,
) -> Iterator[QueryEngine]:
    """Open the engine of a store, or of the local archive if none is given. `engine` selects what reads a lake.

    A query that takes more than `timeout` seconds raises StoreError; Spark ignores the limit.
    """
    if store is None:
        path = archive_path(archive)
        with translate_errors(path), open_archive_engine(path, progress, timeout) as archive_queries:
            yield archive_queries
        return
    from clew.collect.sinks.address import LAKE, POSTGRES

    if store.startswith(LAKE):
        with _open_lake_engine(store, password, engine, timeout) as lake_queries:
            yield lake_queries
        return
    if not store.startswith(POSTGRES):
        raise StoreError(
            f"{store} is not a store that can be queried.",
            "unknown",
            False,
            hint="Write postgresql://…, s3://… or delta:FOLDER, or omit --store to query the archive.",
        )
    from clew.collect.sinks.postgres.connection import PostgresConnection
    from clew.collect.sinks.postgres.query_engine import PostgresEngine

    link = PostgresConnection(store, password)
    try:
        yield PostgresEngine(link, timeout)
    finally:
        link.close()


@contextmanager
def _open_lake_engine(store: str, password: str, engine: str, timeout: float) -> Iterator[QueryEngine]:
    from clew.collect.sinks.address import open_lake

    lake = open_lake(store, password)
    if not lake.has_tables():
        hint = "Correct the address, or fill it with: clew collect --to …"
        raise StoreError(f"{lake.name} has no tables of clew.", "missing", False, hint=hint)
    if engine == "spark":
        from clew.collect.sinks.lake.spark_engine import SparkEngine

        yield SparkEngine(lake)
        return
    from clew.collect.sinks.lake.duckdb_engine import DuckEngine

    duck = DuckEngine(lake, timeout)
    try:
        yield duck
    finally:
        duck.close()
