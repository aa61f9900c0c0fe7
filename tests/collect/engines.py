"""Everything that answers the queries of docs/sql.md, filled from one archive: a row here for each engine.

Each is a context that takes an archive and gives an engine. SQLite is the judge of the others.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest

from clew.collect.masking import Policy
from clew.collect.sinks.lake.delta_tables import Lake
from clew.collect.sinks.lake.sink import LakeFacts, LakeLines
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from clew.collect.sinks.paced_cursors import PacedFactCursor, PacedLineCursor
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.query_engine import PostgresEngine
from clew.collect.sinks.postgres.tables import PostgresFacts, PostgresLines
from clew.collect.sql.archive_engine import SqliteEngine, refresh_facts
from clew.collect.sql.fact_cursor import FactCursor
from clew.collect.sql.fact_tables import TABLES
from clew.collect.sql.open_store import open_engine
from clew.collect.sql.query_result import QueryEngine
from clew.collect.sql.sent_facts import SentFacts
from clew.facts.prices import load
from tests.collect.postgres import PASSWORD, Cluster, Store, furnished

SMALL: dict[
    str, bool | float | int | str | None
] = {  # for a few hundred rows: compiling each query to Java takes three times as long as running it
    "spark.driver.memory": "512m",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
PAGE = Path(__file__).parents[2] / "docs" / "sql.md"


def queries() -> list[str]:
    """The queries of the page, in order."""
    return re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@contextmanager
def sqlite(archive: apsw.Connection) -> Iterator[QueryEngine]:
    with TemporaryDirectory() as folder:
        connection = refresh_facts(archive, f"{folder}/facts.db", load())
        try:
            yield SqliteEngine(connection)
        finally:
            connection.close()


def send(archive: apsw.Connection, link: PostgresConnection, policy: Policy) -> list[Any]:
    """All that waits for a store, lines and facts; what became of it."""
    lines = PostgresLines(link)
    facts = PostgresFacts(link, SentFacts.beside(archive, f"{lines.name}#facts"))
    sent = Delivery(lines, SequenceCursor(archive, lines.name), archive, policy).run(0.0)
    made = Delivery(facts, FactCursor(archive, facts.name, load()), archive, policy).run(0.0)
    return [sent, made]


@contextmanager
def reading(store: Store, user: str = "rio") -> Iterator[PostgresEngine]:
    link = PostgresConnection(store.address(user), PASSWORD)
    try:
        yield PostgresEngine(link)
    finally:
        link.close()


@contextmanager
def postgresql(archive: apsw.Connection) -> Iterator[QueryEngine]:
    """A server of its own: the values are compared with secrets and all, as nothing else would be the same."""
    cluster = Cluster.make()
    try:
        store = furnished(cluster.start(), "same")
        link = PostgresConnection(store.address("ada"), PASSWORD)
        for outcome in send(archive, link, Policy()):
            assert outcome.error is None and not outcome.rejected
        link.close()
        with reading(store) as engine:
            yield engine
    finally:
        cluster.remove()


@contextmanager
def lake(archive: apsw.Connection) -> Iterator[str]:
    """The address of a lake that was filled."""
    with TemporaryDirectory() as folder:
        made = Lake(f"delta:{folder}", "", {})
        lines, facts = LakeLines(made), LakeFacts(made, sent=SentFacts.beside(archive, f"{made.name}#facts"))
        for outcome in (
            Delivery(lines, PacedLineCursor(archive, lines.name), archive, Policy()).run(0.0),
            Delivery(facts, PacedFactCursor(archive, facts.name, load()), archive, Policy()).run(0.0),
        ):
            assert outcome and outcome.error is None and not outcome.rejected
        yield made.name


@contextmanager
def duckdb(archive: apsw.Connection) -> Iterator[QueryEngine]:
    with lake(archive) as address, open_engine(address) as engine:
        yield engine


@contextmanager
def spark(archive: apsw.Connection) -> Iterator[QueryEngine]:
    """One small session; the tables are read as Parquet files, since Spark brings no library for Delta."""
    if shutil.which("java") is None:
        if os.environ.get("CI"):
            pytest.fail("Java is not installed; scripts/prepare-tests does that")
        pytest.skip("Java is not installed")
    from pyspark.sql import SparkSession

    with lake(archive) as address:
        session = SparkSession.builder.master("local[1]").config(map=SMALL).getOrCreate()
        try:
            with open_engine(address, engine="spark") as engine:
                for table in TABLES:
                    session.sql(f"CACHE TABLE {table.name}")
                yield engine
        finally:
            session.stop()


OTHERS: dict[str, Callable[[apsw.Connection], AbstractContextManager[QueryEngine]]] = {
    "postgresql": postgresql,
    "duckdb": duckdb,
    "spark": spark,
}


def answer(engine: QueryEngine, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with engine.run(query) as found:
        return found.columns, list(found.rows)
