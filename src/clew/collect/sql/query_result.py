"""Results: columns and rows, with the same values whichever engine they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from clew.errors import BadQuery, StoreError
from clew.wire.json_codec import encode

Cell = str | int | float | None


class QueryResult(NamedTuple):
    """The names of the columns, each once, and the rows as they come."""

    columns: list[str]
    rows: Iterator[tuple[Cell, ...]]


class QueryEngine(Protocol):
    """Something that answers one query at a time and changes nothing."""

    def run(self, query: str) -> AbstractContextManager[QueryResult]:
        """The answer, to be read inside the context. Raises BadQuery, or StoreError if the store fails."""


def result(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> QueryResult:
    """What an engine gave, in plain values."""
    return QueryResult(_named(columns), (tuple(plain(value) for value in row) for row in rows))


def plain(value: Any) -> Cell:
    """A value as SQLite would give it: sums are whole numbers, truth is 0 or 1, times and bytes are texts."""
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


def _named(columns: Sequence[str]) -> list[str]:
    """Columns of one name are told apart by a number."""
    found: list[str] = []
    for column in columns:
        again = sum(name == column or name.startswith(f"{column}_") for name in found) + 1 if column in found else 1
        found.append(column if again == 1 else f"{column}_{again}")
    return found


def too_slow(timeout: float) -> StoreError:
    """The query was ended by its time limit."""
    return StoreError(
        f"The query took longer than {timeout:g} s.",
        "timeout",
        False,
        hint="Ask for less, or give it more time with --timeout.",
    )


def bad_query(query: str, at: int, reason: str) -> BadQuery:
    """One sentence for SQL that an engine does not take, and what there is to ask."""
    return BadQuery(
        query,
        max(at, 0),
        reason.strip().rstrip("."),
        hint="There are sessions, turns, replies, calls and usage_daily; docs/sql.md names their columns.",
    )
