"""Count what the archive contains, what waits for each sink, and what is wrong."""

from __future__ import annotations

import os

import apsw
from msgspec import Struct

from clew.collect.sinks.outbox import DELIVERABLE

_COUNT_QUERIES = {
    "sessions": "SELECT count(*) FROM file f JOIN generation g ON g.id = f.generation WHERE kind = 'session' AND offset",
    "gone": "SELECT count(*) FROM file WHERE kind = 'session' AND gone IS NOT NULL",
    "files": "SELECT count(*) FROM file",
    "lines": "SELECT count(*) FROM occurrence",
    "contents": "SELECT count(*) FROM content",
    "source_bytes": "SELECT coalesce(sum(length), 0) FROM occurrence",
    "pending_bytes": "SELECT coalesce(sum(length(rest)), 0) FROM generation g JOIN file f ON f.generation = g.id",
    "quarantined": "SELECT count(*) FROM quarantine",
    "masked": "SELECT coalesce(sum(masked), 0) FROM content",
    "moves": "SELECT count(*) FROM alias",
    "rejected": "SELECT count(*) FROM rejected",
}
_DELIVERABLE_AFTER = f"""SELECT count(*) FROM occurrence o JOIN generation g ON g.id = o.generation
JOIN file f ON f.id = g.file WHERE {DELIVERABLE} AND o.seq >"""
_FACTS = "(f.kind IN ('session', 'agent') AND f.generation = g.id)"  # facts are made of these


class ArchiveStatus(Struct, frozen=True):
    """Counts by name; resets of files by reason; the number of records that wait for each sink, and that it rejected."""

    counts: dict[str, int]
    resets: dict[str, int]
    waiting: dict[str, int]
    deliverable: int
    """Records that a new sink would be sent."""
    rejected: dict[str, int]
    stored_bytes: int
    is_sound: bool | None


def read_status(connection: apsw.Connection, path: str, *, thorough: bool = False) -> ArchiveStatus:
    """Read the status of an archive. `thorough` also runs SQLite's integrity check."""
    counts = {name: int(connection.execute(query).get) for name, query in _COUNT_QUERIES.items()}
    resets = "SELECT reason, count(*) FROM generation WHERE reason NOT IN ('new', 'changed') GROUP BY reason"
    waiting = f"SELECT name, ({_DELIVERABLE_AFTER} s.seq AND (s.name NOT LIKE '%#facts' OR {_FACTS})) FROM sink s"
    return ArchiveStatus(
        counts,
        _read_pairs(connection, resets),
        _read_pairs(connection, waiting),
        int(connection.execute(f"{_DELIVERABLE_AFTER} 0").get),
        _read_pairs(connection, "SELECT sink, count(*) FROM rejected GROUP BY sink"),
        sum(os.path.getsize(f) for f in (path, f"{path}-wal") if os.path.exists(f)),
        connection.execute("PRAGMA integrity_check").get == "ok" if thorough else None,
    )


def _read_pairs(connection: apsw.Connection, query: str) -> dict[str, int]:
    return {str(row[0]): int(row[1]) for row in connection.execute(query)}
