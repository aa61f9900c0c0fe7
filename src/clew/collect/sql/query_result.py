"""The columns and rows of a query, with the same value types on every engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from clew.collect.sql.views import VIEWS
from clew.errors import BadQuery, StoreError
from clew.wire.json_codec import encode

Cell = str | int | float | None


class QueryResult(NamedTuple):
    """Unique column names, and the rows as a stream."""

    columns: list[str]
    rows: Iterator[tuple[Cell, ...]]


class QueryEngine(Protocol):
    """Runs one read-only query at a time."""

    def run(self, query: str) -> AbstractContextManager[QueryResult]:
        """Run a query; read the result inside the context. Raises BadQuery, or StoreError if the store fails."""


def build_result(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> QueryResult:
    """Build a result with plain values from the rows of an engine."""
    return QueryResult(_unique_names(columns), (tuple(to_cell(value) for value in row) for row in rows))


def to_cell(value: Any) -> Cell:
    """Convert a value to what SQLite would return: integral sums as int, booleans as 0 or 1, times and bytes as
    text.
    """
    if value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            return float(value)
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, datetime | date):
        return value.isoformat()
    return encode(value).decode() if isinstance(value, list | dict) else str(value)


def _unique_names(columns: Sequence[str]) -> list[str]:
    """Add a number to repeated column names."""
    names: list[str] = []
    for column in columns:
        occurrence = (
            sum(name == column or name.startswith(f"{column}_") for name in names) + 1 if column in names else 1
        )
        names.append(column if occurrence == 1 else f"{column}_{occurrence}")
    return names


def timeout_error(timeout: float) -> StoreError:
    """Return the error for a query that exceeded its time limit."""
    hint = "Simplify the query, or raise the limit with --timeout."
    return StoreError(f"The query took longer than {timeout:g} s.", "timeout", False, hint=hint)


def query_error(query: str, at: int, reason: str) -> BadQuery:
    """Return the error for SQL that an engine rejects, with a hint that lists the views."""
    *names, last = VIEWS
    hint = f"The views are {', '.join(names)} and {last}; clew sql --views lists their columns."
    return BadQuery(query, max(at, 0), reason.strip().rstrip("."), hint=hint)
