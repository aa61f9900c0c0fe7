"""Compare the facts of a file with those that a sink has, so that only what changed is sent.

A row is identified by its key and its day: a row whose day changes is deleted on the old day and written on the new
one. The digest of a file is the sum of the hashes of its rows. A store keeps it, and a change is applied only to the
facts that it was computed from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple

from msgspec import msgpack

from clew.collect.sql.fact_tables import FILE, TABLES, FileFacts, RowKey, Value

ROW_TABLES = tuple(table for table in TABLES if table is not FILE)
_KEY_INDEX = tuple(list(table.columns).index(table.key[-1]) for table in ROW_TABLES)
_DAY_INDEX = tuple(list(table.columns).index("day") for table in ROW_TABLES)
_BITS = 64


class FactState(NamedTuple):
    """What a sink has of a file: the last line that its facts were built from, and the digest of its rows.

    In a lake `chain` is the version of the last complete facts, and `made` that of the last change.
    """

    seq: int
    digest: int
    chain: int = 0
    made: int = 0


class FactChange(NamedTuple):
    """The difference between the facts that a sink has of a file and its current ones."""

    facts: FileFacts
    base: FactState | None
    """What the sink has; None if that is unknown, or if everything is sent again. Then `facts` are sent completely."""
    digest: int
    hashes: dict[RowKey, int]
    """The hashes of the rows of `facts`."""
    changed: list[RowKey]
    """Those to insert or replace."""
    rows: dict[str, list[tuple[Value, ...]]]
    """The rows to insert or replace, by table."""
    deleted: dict[str, list[tuple[Value, str]]]
    """The keys and days of the rows to delete, by table."""

    @property
    def state(self) -> FactState:
        """What the sink has after the change."""
        return FactState(self.facts.seq, self.digest)


def compare_facts(facts: FileFacts, base: FactState | None, sent: Mapping[RowKey, int]) -> FactChange:
    """Compute what changed since `sent`, the hashes of the rows that a sink has; of facts that have only some rows, the
    hashes of those that they replace. Of rows with the same key the first counts.
    """
    hashes: dict[RowKey, int] = {}
    changed: list[RowKey] = []
    rows: dict[str, list[tuple[Value, ...]]] = {}
    deleted: dict[str, list[tuple[Value, str]]] = {}
    remaining = set(sent)
    for number, table in enumerate(ROW_TABLES):
        rows[table.name] = []
        deleted[table.name] = []
        seen: set[Value] = set()
        for row in facts.rows[table.name]:
            name = row[_KEY_INDEX[number]]
            if name in seen:
                continue
            seen.add(name)
            key = (number, name, str(row[_DAY_INDEX[number]]))
            hashes[key] = hashed = hash_row(row)
            remaining.discard(key)
            if sent.get(key) != hashed:
                changed.append(key)
                rows[table.name].append(row)
    for number, name, day in remaining:
        deleted[ROW_TABLES[number].name].append((name, day))
    others = base.digest - sum(sent.values()) if base else 0
    return FactChange(facts, base, _signed(others + sum(hashes.values())), hashes, changed, rows, deleted)


def compare_all(facts: FileFacts) -> FactChange:
    """Return all rows of a file as a change of unknown facts."""
    return compare_facts(facts.continues.build_all() if facts.continues else facts, None, {})


def row_keys(rows: Mapping[str, list[tuple[Value, ...]]]) -> Iterator[RowKey]:
    """Yield the keys of all rows but that of the file."""
    for number, table in enumerate(ROW_TABLES):
        for row in rows[table.name]:
            yield number, row[_KEY_INDEX[number]], str(row[_DAY_INDEX[number]])


def hash_row(row: tuple[Value, ...]) -> int:
    """Return a signed hash of 64 bits."""
    return int.from_bytes(blake2b(msgpack.encode(row), digest_size=_BITS // 8).digest(), signed=True)


def sum_hashes(hashes: Mapping[RowKey, int]) -> int:
    """Return the digest of rows from their hashes."""
    return _signed(sum(hashes.values()))


def whole_rows(facts: FileFacts, table: str) -> list[tuple[Value, ...]]:
    """Return the rows of a table, of those with the same key the first."""
    [index] = [key for key, each in zip(_KEY_INDEX, ROW_TABLES, strict=True) if each.name == table]
    unique: dict[Value, tuple[Value, ...]] = {}
    for row in facts.rows[table]:
        unique.setdefault(row[index], row)
    return list(unique.values())


def _signed(number: int) -> int:
    half = 1 << (_BITS - 1)
    return (number + half) % (1 << _BITS) - half
