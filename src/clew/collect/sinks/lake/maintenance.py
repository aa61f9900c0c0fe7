"""Compact a lake: delete superseded rows, merge small files, and delete unused ones.

Hosts continue to write meanwhile. Data that a reader may still use stays: superseded facts are deleted an hour after
their replacement was written, and a file a week after the last reference to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from deltalake import CommitProperties, DeltaTable

from clew.collect.sinks.lake.delta_tables import COMPRESSION, TABLE_NAMES, Lake
from clew.collect.sinks.lake.duckdb_engine import DuckTables
from clew.collect.sinks.lake.lake_erasure import delete_blocked
from clew.collect.sinks.lake.newest_facts import superseded_columns, superseded_sql
from clew.collect.sql.fact_tables import FILE, TABLES
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError

GRACE_MS = 3_600_000  # milliseconds
WEEK_HOURS = 168  # hours
_ATTEMPTS = 5
_ORDER = (*(name for name in TABLE_NAMES if name != FILE.name), FILE.name)  # which tells what is superseded in others
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
    before = clock() // 1_000_000 - grace
    delete_blocked(lake)
    return [table for name in _ORDER if (table := _compact_with_retry(lake, name, before, hours)) is not None]


def _compact_with_retry(lake: Lake, name: str, before: int, hours: int) -> CompactedTable | None:
    """Compact a table; try again if a host wrote to it at the same time."""
    for attempt in range(_ATTEMPTS):
        try:
            return _compact_table(lake, name, before, hours)
        except StoreError as error:
            if not error.retryable or attempt == _ATTEMPTS - 1:
                raise
    return None


def _compact_table(lake: Lake, name: str, before: int, hours: int) -> CompactedTable | None:
    table = lake.existing(name)
    if table is None:
        return None
    files = len(table.file_uris())
    with lake.translate_errors():
        superseded = _delete_superseded(lake, table, name, before) if name != LINE.name else 0
        lake.merge_small_files(name, least=2)
        table.update_incremental()
        table.create_checkpoint()
        deleted = table.vacuum(hours, dry_run=False, enforce_retention_duration=hours >= WEEK_HOURS)
        table.update_incremental()
    return CompactedTable(name, superseded, files, len(table.file_uris()), len(deleted))


def _delete_superseded(lake: Lake, table: DeltaTable, name: str, before: int) -> int:
    """Delete the rows that no longer count. DuckDB finds them, on the disk if they are many."""
    [fact_table] = [each for each in TABLES if each.name == name]
    with closing(DuckTables(lake)) as tables:
        query = superseded_sql(fact_table, tables.columns[name], before)
        if not tables.connection.execute(f"SELECT 1 FROM ({query}) AS s LIMIT 1").fetchall():
            return 0
        same = " AND ".join(f"t.{column} = s.{column}" for column in superseded_columns(fact_table))
        merged = table.merge(
            tables.connection.sql(query),
            same,
            source_alias="s",
            target_alias="t",
            writer_properties=COMPRESSION,
            commit_properties=_COMMIT_PROPERTIES,
        )
        return int(merged.when_matched_delete().execute()["num_target_rows_deleted"])
