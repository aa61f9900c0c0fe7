"""Compact a lake: delete superseded rows, merge small files, and delete unused ones.

Hosts continue to write meanwhile. Data that a reader may still use stays: superseded facts are deleted an hour after
their replacement was written, and a file a week after the last reference to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import pyarrow
from deltalake import CommitProperties, DeltaTable

from clew.collect.sinks.lake.delta_tables import COMPRESSION, TABLE_NAMES, Lake
from clew.collect.sql.fact_tables import FILE
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError

GRACE_MS = 3_600_000  # milliseconds
WEEK_HOURS = 168  # hours
_ATTEMPTS = 5
_IS_SUPERSEDED = "t.host = n.host AND t.file = n.file AND (t.seq < n.seq OR (t.seq = n.seq AND t.made < n.made))"
_COMMIT_PROPERTIES = CommitProperties(max_commit_retries=60)


class CompactedTable(NamedTuple):
    """The result for a table: superseded rows, files before and after, and deleted files."""

    table: str
    superseded: int
    files_before: int
    files_after: int
    deleted: int


def compact(
    lake: Lake, *, hours: int = WEEK_HOURS, grace: int = GRACE_MS, clock: Callable[[], int] = time.time_ns
) -> list[CompactedTable]:
    """Compact every existing table. `hours` is how long an unreferenced file is kept."""
    newest = _newest_versions(lake, clock() // 1_000_000 - grace)
    return [table for name in TABLE_NAMES if (table := _compact_with_retry(lake, name, newest, hours)) is not None]


def _compact_with_retry(lake: Lake, name: str, newest: pyarrow.Table | None, hours: int) -> CompactedTable | None:
    """Compact a table; try again if a host wrote to it at the same time."""
    for attempt in range(_ATTEMPTS):
        try:
            return _compact_table(lake, name, newest, hours)
        except StoreError as error:
            if not error.retryable or attempt == _ATTEMPTS - 1:
                raise
    return None


def _compact_table(lake: Lake, name: str, newest: pyarrow.Table | None, hours: int) -> CompactedTable | None:
    table = lake.existing(name)
    if table is None:
        return None
    before = len(table.file_uris())
    with lake.translate_errors():
        superseded = _delete_superseded(table, newest) if name != LINE.name and newest is not None else 0
        table.optimize.compact(writer_properties=COMPRESSION, commit_properties=_COMMIT_PROPERTIES)
        table.create_checkpoint()
        deleted = table.vacuum(hours, dry_run=False, enforce_retention_duration=hours >= WEEK_HOURS)
        table.update_incremental()
    return CompactedTable(name, superseded, before, len(table.file_uris()), len(deleted))


def _newest_versions(lake: Lake, before: int) -> pyarrow.Table | None:
    """Return the newest version of the facts of each file that has several, if it is older than the grace period."""
    table = lake.existing(FILE.name)
    if table is None:
        return None
    with lake.translate_errors():
        rows = table.to_pyarrow_table(columns=["host", "file", "seq", "made"]).to_pylist()
    versions: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for row in rows:
        versions.setdefault((row["host"], row["file"]), []).append((row["seq"], row["made"]))
    last = [
        (host, file, *max(file_versions))
        for (host, file), file_versions in versions.items()
        if len(file_versions) > 1 and max(file_versions)[1] <= before
    ]
    if not last:
        return None
    return pyarrow.table(dict(zip(("host", "file", "seq", "made"), map(list, zip(*last, strict=True)), strict=True)))


def _delete_superseded(table: DeltaTable, newest: pyarrow.Table) -> int:
    merged = table.merge(
        newest,
        _IS_SUPERSEDED,
        source_alias="n",
        target_alias="t",
        writer_properties=COMPRESSION,
        commit_properties=_COMMIT_PROPERTIES,
    )
    return int(merged.when_matched_delete().execute()["num_target_rows_deleted"])
