"""Care for a lake: rows that newer ones took the place of go, small files become large ones, and old files are deleted.

Hosts go on writing meanwhile. What a reader may still be looking at stays: a telling goes when its follower is an hour old,
and a file when nothing has named it for a week.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import pyarrow
from deltalake import CommitProperties, DeltaTable

from clew.collect.sinks.lake.delta_tables import NAMES, PACKED, Lake
from clew.collect.sql.fact_tables import FILE
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError

GRACE = 3_600_000  # milliseconds
WEEK = 168  # hours
_TRIES = 5
_OLD = "t.host = n.host AND t.file = n.file AND (t.seq < n.seq OR (t.seq = n.seq AND t.made < n.made))"
_COMMIT = CommitProperties(max_commit_retries=60)


class Cared(NamedTuple):
    """What became of a table: rows that were superseded, files before and after, and files that were deleted."""

    table: str
    superseded: int
    files_before: int
    files_after: int
    deleted: int


def compact(
    lake: Lake, *, hours: int = WEEK, grace: int = GRACE, clock: Callable[[], int] = time.time_ns
) -> list[Cared]:
    """Care for every table that is there. `hours` is how long a file stays that no table names any more."""
    newest = _newest(lake, clock() // 1_000_000 - grace)
    return [cared for name in NAMES if (cared := _again(lake, name, newest, hours)) is not None]


def _again(lake: Lake, name: str, newest: pyarrow.Table | None, hours: int) -> Cared | None:
    """A host may write to what is being rewritten; then it is looked at once more."""
    for tries in range(_TRIES):
        try:
            return _care(lake, name, newest, hours)
        except StoreError as error:
            if not error.retryable or tries == _TRIES - 1:
                raise
    return None


def _care(lake: Lake, name: str, newest: pyarrow.Table | None, hours: int) -> Cared | None:
    table = lake.existing(name)
    if table is None:
        return None
    before = len(table.file_uris())
    with lake.explained():
        superseded = _drop(table, newest) if name != LINE.name and newest is not None else 0
        table.optimize.compact(writer_properties=PACKED, commit_properties=_COMMIT)
        table.create_checkpoint()
        deleted = table.vacuum(hours, dry_run=False, enforce_retention_duration=hours >= WEEK)
        table.update_incremental()
    return Cared(name, superseded, before, len(table.file_uris()), len(deleted))


def _newest(lake: Lake, before: int) -> pyarrow.Table | None:
    """The newest telling of each file that has several, if it has been there for a while."""
    table = lake.existing(FILE.name)
    if table is None:
        return None
    with lake.explained():
        rows = table.to_pyarrow_table(columns=["host", "file", "seq", "made"]).to_pylist()
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for row in rows:
        found.setdefault((row["host"], row["file"]), []).append((row["seq"], row["made"]))
    last = [
        (host, file, *max(told)) for (host, file), told in found.items() if len(told) > 1 and max(told)[1] <= before
    ]
    if not last:
        return None
    return pyarrow.table(dict(zip(("host", "file", "seq", "made"), map(list, zip(*last, strict=True)), strict=True)))


def _drop(table: DeltaTable, newest: pyarrow.Table) -> int:
    merged = table.merge(
        newest, _OLD, source_alias="n", target_alias="t", writer_properties=PACKED, commit_properties=_COMMIT
    )
    return int(merged.when_matched_delete().execute()["num_target_rows_deleted"])
