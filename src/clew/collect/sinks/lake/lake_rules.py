"""The rules of a lake, in its table `about`: its version, its retention, and hashes of what was erased.

Every writer reads them before a commit and leaves out rows that were erased or are too old. Writers of clew 0.1.0 do not
know them; `clew collect erase`, `retain` and `compact` delete what these add.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow
import pyarrow.compute

from clew.collect.retention import FIRST_DAYS, Retention
from clew.collect.sinks.erasure import ERASED_TEXT, ROW_NAMES, remembered_hash
from clew.collect.sql.content_columns import CONTENT_COLUMNS
from clew.collect.sql.fact_tables import FILE, TABLES
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError

ABOUT = "about"
LAKE_VERSION = 2  # clew 0.1.0 wrote version 1, without this table
VERSIONS = {"version": str(LAKE_VERSION), "oldest_writer": "1"}
ABOUT_SCHEMA = pyarrow.schema([("name", pyarrow.string()), ("value", pyarrow.string()), ("made", pyarrow.int64())])
_ERASED = "erased/"  # before the kind, in the name of a hash
_PLACE = ("host", "file", "generation", "start")
_NAMED = ("host", "project", "session", "developer")


class LakeRules(NamedTuple):
    """The newest value of each name, and the hashes of what was erased by kind: `name`, `line`, `place`, and for texts
    `text` (a line) or `row` (of facts), which stay without it."""

    values: Mapping[str, str]
    erased: Mapping[str, frozenset[str]]

    @property
    def retention(self) -> Retention:
        return Retention.read(self.values)

    def first_day(self, table: str) -> str:
        """Return the first day that a table keeps; empty if it keeps all."""
        return self.values.get(FIRST_DAYS["lines" if table == LINE.name else "facts"], "")

    def check_writer(self, lake: str) -> None:
        """Raise StoreError if this version of clew may no longer write."""
        oldest = int(self.values.get("oldest_writer") or 0)
        if oldest > LAKE_VERSION:
            raise StoreError(
                f"{lake} accepts version {oldest} of the tables and newer; this program writes version {LAKE_VERSION}.",
                "version",
                False,
                hint="Update clew on this machine; what waits stays in the archive.",
            )


NO_RULES = LakeRules({}, {})


def read_rules(about: pyarrow.Table) -> LakeRules:
    """Return the rules in the rows of the table `about`."""
    values: dict[str, str] = {}
    erased: dict[str, set[str]] = {}
    for row in sorted(about.to_pylist(), key=lambda row: int(row["made"])):
        if row["name"].startswith(_ERASED):
            erased.setdefault(row["name"].removeprefix(_ERASED), set()).add(row["value"])
        else:
            values[row["name"]] = row["value"]
    return LakeRules(values, {kind: frozenset(hashes) for kind, hashes in erased.items()})


def rule_rows(values: Mapping[str, str], erased: Iterable[tuple[str, str]], made: int) -> pyarrow.Table:
    """Return rows for `about`: values by name, and hashes with their kind."""
    rows = [(name, value, made) for name, value in values.items()]
    rows += [(f"{_ERASED}{kind}", hashed, made) for kind, hashed in dict.fromkeys(erased)]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, ABOUT_SCHEMA, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=ABOUT_SCHEMA)


def apply_rules(name: str, rows: pyarrow.Table, rules: LakeRules) -> pyarrow.Table:
    """Return the rows of a table that may be added, with erased contents."""
    if not rows.num_rows or name == ABOUT:
        return rows
    blocked = blocked_rows(name, rows, rules)
    if name == LINE.name and (texts := rules.erased.get("text")):
        mask = _is_erased(rows.column("hash"), "line", texts)
        blocked = mask if blocked is None else pyarrow.compute.or_(blocked, mask)
    kept = rows.filter(pyarrow.compute.invert(blocked)) if blocked is not None else rows
    return _blank_contents(name, kept, rules.erased.get("row", frozenset()))


def blocked_rows(name: str, rows: pyarrow.Table, rules: LakeRules) -> pyarrow.Array | None:
    """Return for each row whether it was erased or is too old; None if none can be."""
    masks = list(_masks(name, rows, rules))
    blocked = None
    for mask in masks:
        blocked = mask if blocked is None else pyarrow.compute.or_(blocked, mask)
    return blocked


def blocked_values(name: str, rows: pyarrow.Table, rules: LakeRules) -> dict[str, set[tuple[Any, ...]]]:
    """Return by which values rows are blocked, for one column or several that are separated by spaces."""
    values: dict[str, set[tuple[Any, ...]]] = {}
    for column in _NAMED:
        if column in rows.column_names:
            values[column] = {(each,) for each in _erased_names(rows.column(column), column, rules.erased.get("name"))}
    if name == LINE.name:
        values["hash"] = {(each,) for each in _erased_names(rows.column("hash"), "line", rules.erased.get("line"))}
        columns = [rows.column(column).to_pylist() for column in _PLACE]
        places = rules.erased.get("place", frozenset())
        found = {each for each in zip(*columns, strict=True) if remembered_hash("place", *each) in places}
        values[" ".join(_PLACE)] = found
    return values


def _masks(name: str, rows: pyarrow.Table, rules: LakeRules) -> Iterator[pyarrow.Array]:
    if first := rules.first_day(name):
        time = rows.column("ended" if name == FILE.name else "day")
        yield pyarrow.compute.and_(pyarrow.compute.not_equal(time, ""), pyarrow.compute.less(time, first))
    if names := rules.erased.get("name"):
        for column in _NAMED:
            if column in rows.column_names:
                yield _is_erased(rows.column(column), column, names)
    if name == LINE.name and (hashes := rules.erased.get("line")):
        yield _is_erased(rows.column("hash"), "line", hashes)
    if name == LINE.name and (places := rules.erased.get("place")):
        columns = [rows.column(column).to_pylist() for column in _PLACE]
        yield pyarrow.array([remembered_hash("place", *place) in places for place in zip(*columns, strict=True)])


def _is_erased(column: Any, kind: str, hashes: frozenset[str]) -> pyarrow.Array:
    return pyarrow.compute.is_in(column, value_set=pyarrow.array(_erased_names(column, kind, hashes), pyarrow.string()))


def _erased_names(column: Any, kind: str, hashes: frozenset[str] | None) -> list[str]:
    if not hashes:
        return []
    return [value for value in column.unique().to_pylist() if value and remembered_hash(kind, value) in hashes]


def _blank_contents(name: str, rows: pyarrow.Table, erased: frozenset[str]) -> pyarrow.Table:
    if not erased or name == LINE.name:
        return rows
    columns = [rows.column(column).to_pylist() for column in ROW_NAMES[name]]
    mask = pyarrow.array([remembered_hash(name, *names) in erased for names in zip(*columns, strict=True)])
    [table] = [table for table in TABLES if table.name == name]
    for column in table.columns:
        if column in CONTENT_COLUMNS:
            values = pyarrow.compute.if_else(mask, ERASED_TEXT, rows.column(column))
            rows = rows.set_column(rows.column_names.index(column), column, values)
    return rows
