"""Update a shard with new, changed, moved and deleted transcripts.

A file is identified by path, inode, the number of bytes read, and a checksum of them. A rewritten file is
read again, a moved file keeps its rows, and a deleted file loses them, but only after a complete walk. If the
process is killed, the index is incomplete but correct.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import apsw

from clew.index.changed_files import ChangedFiles
from clew.index.file_rows import delete_pieces
from clew.index.index_writer import BATCH, Counts, IndexWriter
from clew.system.sqlite_file import BUSY_MS, WriteTransaction
from clew.wire.growth import ReadState, has_only_grown
from clew.wire.tree_walk import TranscriptFile

MERGE_PAGES = 64  # full-text pages merged per step, about 25 ms (measured)
MERGE_STEPS = 32  # without a deadline, about, however large the shard is
MERGE_SECONDS = 0.02  # after a small refresh


def update_shard(
    shard: apsw.Connection,
    changes: ChangedFiles,
    deadline: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Read changed files until a deadline on the monotonic clock; `progress` receives the bytes read.

    Waits while another process writes; if that takes too long, the remaining files are left for the next refresh.
    """
    counts = Counts()
    if not changes.changed and not changes.deleted:
        return counts
    shard.set_busy_timeout(BUSY_MS if deadline is None else max(1, int(1000 * (deadline - time.monotonic()))))
    writer = IndexWriter(shard, counts, deadline, progress)
    try:
        _read_changed(writer, changes, _find_moved(shard, changes))
        if counts.is_complete and changes.deleted:
            _delete_removed(shard, changes, counts)
    except apsw.BusyError:
        counts.is_complete = False
    finally:
        writer.stop()
        shard.set_busy_timeout(BUSY_MS)
    return counts


def _read_changed(writer: IndexWriter, changes: ChangedFiles, moved: dict[str, int]) -> None:
    # With a deadline the windows are small, so that the newest files are read if there is no time for all.
    for window in changes.changed.split(BATCH if writer.deadline is None else BATCH // 8):
        writer.read_window(window, moved)
        if not writer.counts.is_complete and writer.is_late:
            break


def _delete_removed(shard: apsw.Connection, changes: ChangedFiles, counts: Counts) -> None:
    with WriteTransaction(shard):
        for file_id, path in changes.deleted.items():
            if shard.execute("SELECT 1 FROM file WHERE id=? AND path=?", (file_id, path)).get:
                delete_pieces(shard, file_id)
                shard.execute("DELETE FROM file WHERE id=?", (file_id,))
                counts.removed += 1


def _find_moved(shard: apsw.Connection, changes: ChangedFiles) -> dict[str, int]:
    """Return {new path: file id} of files that were moved: same inode and same content as a deleted one."""
    if not changes.deleted:
        return {}
    rows = shard.execute("SELECT inode, id, offset, mark FROM file")
    deleted_files = {
        inode: (i, ReadState(inode, offset, mark)) for inode, i, offset, mark in rows if i in changes.deleted
    }
    moved = {}
    for file in changes.changed:
        match = deleted_files.get(file.inode)
        if match and _continues(file, match[1]):
            moved[file.path] = match[0]
    return moved


def _continues(transcript: TranscriptFile, before: ReadState) -> bool:
    try:
        with open(transcript.path, "rb") as file:
            return has_only_grown(file, before, transcript.inode, transcript.size)
    except OSError:
        return False


def merge_segments(shard: apsw.Connection, deadline: float | None) -> None:
    """Merge full-text segments in small steps until the deadline; searches are faster with few segments.

    Each step opens every segment and writes its first page again, and a build leaves segments in proportion to what it
    read. So without a deadline the steps are larger in a larger shard: else they would take quadratic time.
    """
    pages = MERGE_PAGES if deadline is not None else max(MERGE_PAGES, shard.pragma("page_count") // MERGE_STEPS)
    for table in ("said", "done"):
        while deadline is None or time.monotonic() < deadline:
            before = shard.total_changes()
            try:
                with WriteTransaction(shard):
                    shard.execute(f"INSERT INTO {table}({table}, rank) VALUES('merge', ?)", (pages,))
            except apsw.BusyError:
                return
            if shard.total_changes() - before < 2:
                break
