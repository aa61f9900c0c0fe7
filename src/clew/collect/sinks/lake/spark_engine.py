"""Asking a lake on a cluster: Spark over the Parquet files that each table has now.

delta-rs tells which files those are, so that Spark needs no further library on a disk; for `s3://` it needs `hadoop-aws`,
which clusters bring along. The session is the one that is active, or one as `spark-defaults.conf` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clew.collect.sinks.lake.delta_tables import VERSION, Lake, columns
from clew.collect.sinks.lake.duckdb_engine import told
from clew.collect.sql.fact_tables import TABLES, FactTable
from clew.collect.sql.query_result import QueryResult, bad_query, result
from clew.collect.sql.views import VIEWS
from clew.errors import StoreError

try:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql.types import LongType, StringType, StructField, StructType
except ImportError:
    raise StoreError(
        "pyspark is needed for this and not installed.",
        "extra",
        False,
        hint="Install it, and Java 17 or newer: pip install 'clew[spark]'",
    ) from None

_READING = ("select", "with", "values", "table", "(", "from")


class SparkEngine:
    """Asks the views of a lake."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.spark = _session()
        for table in TABLES:
            self._add(table)
        for name, text in VIEWS.items():
            self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {text}")

    def _add(self, table: FactTable) -> None:
        fields = [StructField(c, StringType() if t == "text" else LongType()) for c, t in columns(table.name).items()]
        found = self.lake.existing(table.name)
        files = [_for_spark(uri) for uri in found.file_uris()] if found else []
        shape = StructType(fields)
        rows = self.spark.read.schema(shape).parquet(*files) if files else self.spark.createDataFrame([], shape)
        rows.createOrReplaceTempView(f"told_{table.name}")
        text = told(table, {*table.columns, *VERSION})
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {table.name} AS {text}")

    @contextmanager
    def run(self, query: str) -> Iterator[QueryResult]:
        if not query.lstrip().lower().startswith(_READING):
            raise bad_query(query, 0, "Only reading is possible")
        try:
            frame = self.spark.sql(query.strip().rstrip(";"))
            yield result(frame.columns, _rows(frame.toLocalIterator()))
        except PySparkException as error:
            raise bad_query(query, 0, str(error).split("\n", 1)[0]) from None


def _session() -> SparkSession:
    try:
        return SparkSession.getActiveSession() or SparkSession.builder.appName("clew").getOrCreate()
    except PySparkException as error:
        raise StoreError(
            f"Spark cannot be started: {str(error).splitlines()[0]}",
            "spark",
            False,
            hint="It needs Java 17 or newer; or ask with --engine duckdb.",
        ) from None


def _rows(found: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    yield from map(tuple, found)


def _for_spark(uri: str) -> str:
    """Spark reads an object store under another name."""
    return f"s3a://{uri.removeprefix('s3://')}" if uri.startswith("s3://") else uri
