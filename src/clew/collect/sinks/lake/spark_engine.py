"""Query a lake on a cluster with Spark.

delta-rs lists the current Parquet files, so that Spark needs no further library for local files; for `s3://` it needs
`hadoop-aws`, which clusters provide. The active Spark session is used, or one configured by `spark-defaults.conf`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clew.collect.sinks.lake.delta_tables import VERSION_COLUMNS, Lake, lake_columns
from clew.collect.sinks.lake.newest_facts import NEWEST, newest_facts_sql, newest_versions_sql
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable
from clew.collect.sql.query_result import QueryResult, build_result, query_error
from clew.collect.sql.views import CAST_DATE, MOVED, build_views, moved_sql
from clew.errors import StoreError
from clew.system.extras import install_hint

try:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql.types import LongType, StringType, StructField, StructType
except ImportError:
    raise StoreError(
        "pyspark is needed for this and not installed.",
        "extra",
        False,
        hint=f"{install_hint('spark')} (it needs Java 17 or newer)",
    ) from None

_QUERY_STARTS = ("select", "with", "values", "table", "(", "from")


class SparkEngine:
    """Queries the views of a lake."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.spark = _open_session()
        for table in TABLES:
            self._register(table)
        names = {*FILE.columns, *VERSION_COLUMNS}
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {NEWEST} AS {newest_versions_sql(names)}")
        for table in TABLES:
            text = newest_facts_sql(table, {*table.columns, *VERSION_COLUMNS})
            self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {table.name} AS {text}")
        for name in MOVED:
            self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {moved_sql(name)}")
        moved = [name for name in MOVED if self.spark.sql(f"SELECT 1 FROM {name} LIMIT 1").collect()]
        for name, text in build_views(CAST_DATE, moved).items():
            self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {text}")

    def _register(self, table: FactTable) -> None:
        fields = [
            StructField(c, StringType() if t == "text" else LongType()) for c, t in lake_columns(table.name).items()
        ]
        existing = self.lake.existing(table.name)
        files = [_spark_uri(uri) for uri in existing.file_uris()] if existing else []
        shape = StructType(fields)
        rows = self.spark.read.schema(shape).parquet(*files) if files else self.spark.createDataFrame([], shape)
        rows.createOrReplaceTempView(f"told_{table.name}")

    @contextmanager
    def run(self, query: str) -> Iterator[QueryResult]:
        if not query.lstrip().lower().startswith(_QUERY_STARTS):
            raise query_error(query, 0, "Only read-only queries are allowed")
        try:
            frame = self.spark.sql(query.strip().rstrip(";"))
            yield build_result(frame.columns, _rows(frame.toLocalIterator()))
        except PySparkException as error:
            raise query_error(query, 0, str(error).split("\n", 1)[0]) from None


def _open_session() -> SparkSession:
    try:
        return SparkSession.getActiveSession() or SparkSession.builder.appName("clew").getOrCreate()
    except PySparkException as error:
        message = f"Spark cannot be started: {str(error).splitlines()[0]}"
        hint = "Install Java 17 or newer, or use --engine duckdb."
        raise StoreError(message, "spark", False, hint=hint) from None


def _rows(rows: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    yield from map(tuple, rows)


def _spark_uri(uri: str) -> str:
    """Return the URI of an object under the scheme that Spark uses."""
    return f"s3a://{uri.removeprefix('s3://')}" if uri.startswith("s3://") else uri
