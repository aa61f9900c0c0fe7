"""Opening what can be asked: the archive, or a store that is named by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from clew.collect.archive.reader import archive_path
from clew.collect.archive.sqlite_errors import translate_errors
from clew.collect.sinks.address import LAKE, POSTGRES, open_lake
from clew.collect.sql.archive_engine import Progress, archive_engine
from clew.collect.sql.query_result import QueryEngine
from clew.errors import StoreError


@contextmanager
def engine_at(
    store: str | None = None,
    *,
    archive: str | None = None,
    password: str = "",
    progress: Progress | None = None,
    engine: str = "duckdb",
    timeout: float = inf,
) -> Iterator[QueryEngine]:
    """What answers for a store; for the archive on this machine if none is named. `engine` is what reads a lake.

    A query that takes more than `timeout` seconds ends with a StoreError; Spark does not heed it.
    """
    if store is None:
        path = archive_path(archive)
        with translate_errors(path), archive_engine(path, progress, timeout) as found:
            yield found
        return
    if store.startswith(LAKE):
        with _lake_engine(store, password, engine, timeout) as asked:
            yield asked
        return
    if not store.startswith(POSTGRES):
        raise StoreError(
            f"{store} is no store that can be asked.",
            "unknown",
            False,
            hint="Write postgresql://…, s3://… or delta:FOLDER, or leave --store out to ask the archive.",
        )
    from clew.collect.sinks.postgres.connection import PostgresConnection
    from clew.collect.sinks.postgres.query_engine import PostgresEngine

    link = PostgresConnection(store, password)
    try:
        yield PostgresEngine(link, timeout)
    finally:
        link.close()


@contextmanager
def _lake_engine(store: str, password: str, engine: str, timeout: float) -> Iterator[QueryEngine]:
    if engine == "spark":
        from clew.collect.sinks.lake.spark_engine import SparkEngine

        yield SparkEngine(open_lake(store, password))
        return
    from clew.collect.sinks.lake.duckdb_engine import DuckEngine

    asked = DuckEngine(open_lake(store, password), timeout)
    try:
        yield asked
    finally:
        asked.close()
