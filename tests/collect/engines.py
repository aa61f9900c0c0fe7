"""Everything that answers the queries of docs/sql.md, filled from one archive: a row here for each engine.

Each is a context that takes an archive and gives an engine. SQLite is the judge of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw

from clew.collect.outbox import Delivery, SequenceCursor
from clew.collect.policy import Policy
from clew.collect.postgres import PostgresFacts, PostgresLines
from clew.collect.postgres_link import Link
from clew.collect.postgres_read import PostgresEngine
from clew.collect.sql_cache import SqliteEngine, refreshed
from clew.collect.sql_cursor import FactCursor
from clew.collect.sql_result import Engine
from clew.facts.price import load
from tests.collect.postgres import PASSWORD, Cluster, Store, furnished

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"


def queries() -> list[str]:
    """The queries of the page, in order."""
    return re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@contextmanager
def sqlite(archive: apsw.Connection) -> Iterator[Engine]:
    connection = refreshed(archive, ":memory:", load())
    try:
        yield SqliteEngine(connection)
    finally:
        connection.close()


def send(archive: apsw.Connection, link: Link, policy: Policy) -> list[Any]:
    """All that waits for a store, lines and facts; what became of it."""
    lines, facts = PostgresLines(link), PostgresFacts(link)
    sent = Delivery(lines, SequenceCursor(archive, lines.name), archive, policy).run(0.0)
    made = Delivery(facts, FactCursor(archive, facts.name, load()), archive, policy).run(0.0)
    return [sent, made]


@contextmanager
def reading(store: Store, user: str = "rio") -> Iterator[PostgresEngine]:
    link = Link(store.address(user), PASSWORD)
    try:
        yield PostgresEngine(link)
    finally:
        link.close()


@contextmanager
def postgresql(archive: apsw.Connection) -> Iterator[Engine]:
    """A server of its own: the values are compared with secrets and all, as nothing else would be the same."""
    cluster = Cluster.make()
    try:
        store = furnished(cluster.start(), "same")
        link = Link(store.address("ada"), PASSWORD)
        for outcome in send(archive, link, Policy()):
            assert outcome.error is None and not outcome.rejected
        link.close()
        with reading(store) as engine:
            yield engine
    finally:
        cluster.remove()


OTHERS: dict[str, Callable[[apsw.Connection], AbstractContextManager[Engine]]] = {"postgresql": postgresql}


def answer(engine: Engine, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with engine.run(query) as found:
        return found.columns, list(found.rows)
