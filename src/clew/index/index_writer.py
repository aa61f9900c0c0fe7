"""Read transcripts into a shard. A file's rows and how far it was read are committed together.

The state of a file is read in the same transaction, so two concurrent refreshes never write the same row.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

import apsw

from clew.errors import UNEXPECTED_ERRORS
from clew.index.changed_files import FileWindow
from clew.index.file_rows import FileRow, FileState, delete_pieces, insert_row, load_row, reset_row, save_row
from clew.index.piece_rows import PieceRows
from clew.index.piece_writer import PieceWriter
from clew.index.session_facts import IndexedEntry, SessionFacts, set_shown_title
from clew.wire.bulk_scan import scan
from clew.wire.growth import ReadState, fingerprint, has_only_grown
from clew.wire.layout import is_warmup
from clew.wire.tree_walk import TranscriptFile

BATCH = 24 << 20  # bytes of transcripts per transaction
_CHUNK = 8 << 20  # bytes of transcripts whose rows are inserted together: smaller ones compete for the CPU cache
_ROWS = 10_000  # rows that are inserted together, if texts are short; they take as much memory as a chunk


@dataclass
class Counts:
    """What a refresh read and removed, and whether it finished."""

    files: int = 0
    pieces: int = 0
    bytes: int = 0
    removed: int = 0
    is_complete: bool = True
    skipped: list[str] = field(default_factory=list)


class IndexWriter:
    """Reads files, and commits their rows together with how far each file was read."""

    def __init__(
        self,
        shard: apsw.Connection,
        counts: Counts,
        deadline: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.shard = shard
        self.counts = counts
        self.deadline = deadline
        self.progress = progress
        self.newest = int(shard.execute("SELECT max(mtime) FROM file").get or 0)
        self.pieces = PieceWriter(shard)
        self.held = 0  # bytes read in this transaction
        self.collected = 0  # bytes read since rows were inserted

    @property
    def is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def read_window(self, window: FileWindow, moved: dict[str, int]) -> None:
        """Read some files, the oldest first, and commit; `moved` are ids of rows that had another path."""
        self.pieces.start_window(window.size)
        for transcript in window:
            if self.is_late:
                self.counts.is_complete = False
                break
            self._read(transcript, moved.get(transcript.path))
        self._flush()

    def _read(self, transcript: TranscriptFile, moved: int | None) -> None:
        """Read a file from where the last refresh stopped, or from the start if it was rewritten."""
        try:
            with open(transcript.path, "rb") as file:
                self._begin_transaction()
                row = load_row(self.shard, transcript, moved)
                self.pieces.put_below(row is None and transcript.mtime_ns <= (self.newest or transcript.mtime_ns))
                self._read_file(file, transcript, row)
        except OSError:  # deleted, or not readable
            self.counts.is_complete = self.counts.is_complete and not os.path.exists(transcript.path)
        except UNEXPECTED_ERRORS:
            self._skip(transcript.path)
        self.pieces.inputs.clear()

    def _skip(self, path: str) -> None:
        """Delete the rows of a file that could not be read completely; the next refresh tries again."""
        file_id = self.shard.execute("SELECT id FROM file WHERE path=?", (path,)).get
        if file_id is not None:  # some rows may have been written in this transaction
            self.pieces.drop(int(file_id))
            reset_row(self.shard, int(file_id))
        self.counts.skipped.append(path)

    def _read_file(self, file: BinaryIO, transcript: TranscriptFile, row: FileRow | None) -> None:
        stat = os.fstat(file.fileno())
        state = (stat.st_ino & ((1 << 63) - 1), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        if row and row.state == state:
            self.counts.files += 1
            return  # another process was faster, or the file was only moved
        if row and not has_only_grown(file, ReadState(row.state[0], row.offset, row.mark), *state[:2]):
            delete_pieces(self.shard, row.id)
            row = FileRow(row.id, state, 0, b"", False, SessionFacts(transcript.session))
        row = row or insert_row(self.shard, transcript)
        if transcript.agent and not row.offset and is_warmup(transcript.path, stat.st_size):
            self.counts.files += 1
            self._save_progress(file, PieceRows(self.pieces, transcript, row), state, 0)  # if it grows, it is read
            return
        self._read_entries(file, PieceRows(self.pieces, transcript, row), state)

    def _read_entries(self, file: BinaryIO, rows: PieceRows, state: FileState) -> None:
        """Read the entries of a file from where its row says, until its end or the deadline."""
        unfinished = (state[0], -1, -1, -1)
        offset, is_complete = rows.row.offset, True
        for batch in scan(file, offset=offset, finished=True, shape=IndexedEntry):
            for entry, entry_offset in zip(batch.spoken, batch.offsets, strict=True):
                rows.add(entry, entry_offset)
            size = batch.stop - offset
            offset = batch.stop
            self.held += size
            self.collected += size
            if self.held > BATCH:
                self._save_progress(file, rows, unfinished, offset)
                self._flush()
                self._begin_transaction()
            elif self.collected >= _CHUNK or len(self.pieces.rows) >= _ROWS:
                self._insert()
            if self.is_late:
                is_complete = offset >= state[1]
                break
        self.counts.files += is_complete
        self.counts.is_complete = self.counts.is_complete and is_complete
        self._save_progress(file, rows, state if is_complete else unfinished, offset)

    def _save_progress(self, file: BinaryIO, rows: PieceRows, state: FileState, offset: int) -> None:
        """Record how far a file was read, and add a title piece if its titles or its first entry changed."""
        row, transcript = rows.row, rows.transcript
        if not transcript.agent:
            if rows.has_new_title:
                self.shard.execute("DELETE FROM said WHERE rowid=(SELECT title FROM file WHERE id=?)", (row.id,))
                self.shard.execute("DELETE FROM piece WHERE id=(SELECT title FROM file WHERE id=?)", (row.id,))
                rows.add_title()
            set_shown_title(row.facts, transcript.path, state[1])
        row.mark = fingerprint(file, offset, row.offset, row.mark)
        row.offset = offset
        save_row(self.shard, transcript, row, state)

    def _begin_transaction(self) -> None:
        if not self.shard.in_transaction:
            self.shard.execute("BEGIN IMMEDIATE")
            self.pieces.start_transaction()

    def _insert(self) -> None:
        self.pieces.insert()
        self.collected = 0

    def _flush(self) -> None:
        """Insert the collected rows and commit."""
        if not self.shard.in_transaction:
            return
        self._insert()
        self.shard.execute("COMMIT")
        self.counts.pieces = self.pieces.inserted
        self.counts.bytes += self.held
        self.held = 0
        if self.progress:
            self.progress(self.counts.bytes)

    def stop(self) -> None:
        """Roll back what was not committed."""
        if self.shard.in_transaction:
            self.shard.execute("ROLLBACK")
