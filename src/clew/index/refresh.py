"""Refreshing: bring a shard up to date with the transcripts.

A file is known by its path, its inode, the bytes consumed and a hash of some before them; one that was rewritten is read
anew, one that moved keeps its rows, and one that is gone loses them, but only after a whole walk. A kill at any moment
leaves an index that is right as far as it goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import apsw

from clew.index.changed_files import ChangedFiles
from clew.index.index_writer import Counts, IndexWriter, delete_pieces, fingerprint
from clew.system.sqlite_file import BUSY_MS, WriteTransaction

STEP = 64  # pages of the full text that are merged at a time, some 25 ms (measured)
IDLE = 0.02  # seconds of merging after a small refresh


def update(
    shard: apsw.Connection,
    now: ChangedFiles,
    deadline: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Read what has changed, until a deadline on the monotonic clock; `progress` is told the bytes consumed.

    What another process is writing meanwhile is waited for; if it takes too long, the rest is left for the next time.
    """
    counts = Counts()
    if not now.changed and not now.deleted:
        return counts
    shard.set_busy_timeout(BUSY_MS if deadline is None else max(1, int(1000 * (deadline - time.monotonic()))))
    writer = IndexWriter(shard, counts, deadline, progress)
    try:
        _read(writer, now, _moved(shard, now))
        if counts.is_complete and now.deleted:
            _remove(shard, now, counts)
    except apsw.BusyError:
        counts.is_complete = False
    finally:
        writer.stop()
        shard.set_busy_timeout(BUSY_MS)
    return counts


def _read(writer: IndexWriter, now: ChangedFiles, moved: dict[str, int]) -> None:
    for file in now.changed:
        if writer.deadline is not None and time.monotonic() > writer.deadline:
            writer.counts.is_complete = False
            break
        writer.read(file, moved.get(file.path))
    writer.flush()


def _remove(shard: apsw.Connection, now: ChangedFiles, counts: Counts) -> None:
    with WriteTransaction(shard):
        for file_id, path in now.deleted.items():
            if shard.execute("SELECT 1 FROM file WHERE id=? AND path=?", (file_id, path)).get:
                delete_pieces(shard, file_id)
                shard.execute("DELETE FROM file WHERE id=?", (file_id,))
                counts.removed += 1


def _moved(shard: apsw.Connection, now: ChangedFiles) -> dict[str, int]:
    """New paths whose bytes are those of a file that is gone from its old one."""
    if not now.deleted:
        return {}
    rows = shard.execute("SELECT inode, id, offset, mark FROM file")
    old = {inode: (i, offset, mark) for inode, i, offset, mark in rows if i in now.deleted}
    found = {}
    for file in now.changed:
        match = old.get(file.inode)
        if match and file.size >= match[1] and _mark(file.path, match[1]) == match[2]:
            found[file.path] = match[0]
    return found


def _mark(path: str, offset: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return fingerprint(file, offset)
    except OSError:
        return b""


def merge(shard: apsw.Connection, deadline: float | None) -> None:
    """Merge the full-text segments in small steps, while there is time: few segments make searches fast."""
    for table in ("said", "done"):
        while deadline is None or time.monotonic() < deadline:
            before = shard.total_changes()
            try:
                with WriteTransaction(shard):
                    shard.execute(f"INSERT INTO {table}({table}, rank) VALUES('merge', ?)", (STEP,))
            except apsw.BusyError:
                return
            if shard.total_changes() - before < 2:
                break
