"""Write the rows of a shard. A file's rows and how far it was read are committed together.

The state of a file is read in the same transaction, so two concurrent refreshes never write the same row.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from zlib import crc32

import apsw

from clew.errors import UNEXPECTED_ERRORS
from clew.facts.searchable_text import words
from clew.index.base64_filter import prepare_text
from clew.index.collect_forms import FormCollector
from clew.index.index_schema import FIRST_ROW, SPOKEN_FIELDS
from clew.index.long_outputs import LongOutputs
from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.session_facts import (
    COLUMNS,
    IndexedEntry,
    SessionFacts,
    epoch_seconds,
    facts_from_row,
    input_number,
    match_results,
    node_id,
    set_shown_title,
    update_facts,
    update_round,
)
from clew.wire.bulk_scan import scan
from clew.wire.growth import ReadState, fingerprint, has_only_grown
from clew.wire.layout import is_warmup
from clew.wire.tree_walk import TranscriptFile

BATCH = 24 << 20  # bytes of transcripts per transaction
TITLE, _RESULT = SEARCH_FIELDS.index("title"), SEARCH_FIELDS.index("result")
_MAX_RESULTS = 256  # results in one entry whose long outputs are read
_NULLS_BEFORE = [(None,) * field for field in range(len(SPOKEN_FIELDS))]  # the other columns of `said` for a field
_NULLS_AFTER = _NULLS_BEFORE[::-1]
_FIELD_NUMBER = {name: number for number, name in enumerate(SEARCH_FIELDS)}
_INSERT = (
    "INSERT INTO file(path, folder, session, agent, inode, size, mtime, offset, mark) VALUES(?,?,?,?,?,-1,-1,0,x'')"
)
_UPDATE = (
    "UPDATE file SET path=?, folder=?, inode=?, size=?, mtime=?, ctime=?, offset=?, mark=?, "
    + ", ".join(f"{name}=?" for name in COLUMNS)
    + " WHERE id=?"
)
_SELECT = f"SELECT id, inode, size, mtime, ctime, offset, mark, title, {', '.join(COLUMNS)} FROM file WHERE "


@dataclass
class Counts:
    """What a refresh read and removed, and whether it finished."""

    files: int = 0
    pieces: int = 0
    bytes: int = 0
    removed: int = 0
    is_complete: bool = True
    skipped: list[str] = field(default_factory=list)


@dataclass
class _FileRow:
    """A row of `file`, and the state of reading its file."""

    id: int
    state: tuple[int, int, int, int]  # inode, size, mtime, ctime
    offset: int
    mark: bytes
    has_title: bool
    facts: SessionFacts
    pending_summaries: dict[int, tuple[int, str]] = field(default_factory=dict)  # by the node that may follow
    summary_offset: int = -1  # where the chosen summary is
    textless_nodes: set[int] = field(default_factory=set)  # entries without pieces, which a summary may refer to


class IndexWriter:
    """Collects rows and commits them together with how far each file was read."""

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
        self.is_below = True
        self.blocks: list[list[tuple[Any, ...]]] = []
        self.held = 0
        self.tools: dict[str, int] = {}
        self.forms = FormCollector()

    def read(self, transcript: TranscriptFile, moved: int | None = None) -> None:
        """Read a file from where the last refresh stopped, or from the start if it was rewritten."""
        try:
            with open(transcript.path, "rb") as file:
                self._begin_transaction()
                row = self._load_row(transcript, moved)
                below = row is None and transcript.mtime_ns <= (self.newest or transcript.mtime_ns)
                if below != self.is_below:
                    self.flush()
                    self.is_below = below
                    self._begin_transaction()
                self._read_entries(file, transcript, row)
        except OSError:  # deleted, or not readable
            self.counts.is_complete = self.counts.is_complete and not os.path.exists(transcript.path)
        except UNEXPECTED_ERRORS:
            self._skip(transcript.path)

    def _skip(self, path: str) -> None:
        """Delete the rows of a file that could not be read completely; the next refresh tries again."""
        file_id = self.shard.execute("SELECT id FROM file WHERE path=?", (path,)).get
        self.blocks = [block for block in self.blocks if not block or block[0][0] != file_id]
        if file_id is not None:  # some rows may have been written in this transaction
            delete_pieces(self.shard, file_id)
            self.shard.execute("UPDATE file SET size=-1, mtime=-1, offset=0, mark=x'' WHERE id=?", (file_id,))
        self.counts.skipped.append(path)

    def _read_entries(self, file: BinaryIO, transcript: TranscriptFile, row: _FileRow | None) -> None:
        stat = os.fstat(file.fileno())
        state = (stat.st_ino & ((1 << 63) - 1), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        if row and row.state == state:
            self.counts.files += 1
            return  # another process was faster, or the file was only moved
        if row and not has_only_grown(file, ReadState(row.state[0], row.offset, row.mark), *state[:2]):
            delete_pieces(self.shard, row.id)
            row = _FileRow(row.id, state, 0, b"", False, SessionFacts(transcript.session))
        row = row or self._insert_file(transcript)
        block: list[tuple[Any, ...]] = []
        self.blocks.append(block)
        title_before, offset = (row.facts.titles, row.facts.root), row.offset
        outputs: LongOutputs | None = None
        is_complete = True
        if transcript.agent and not offset and is_warmup(transcript.path, stat.st_size):
            self.counts.files += 1
            self._save_progress(
                file, transcript, (row, title_before), state, 0, block
            )  # if it grows, it is read from the start
            return
        for piece in scan(file, offset=offset, finished=True, shape=IndexedEntry):
            for entry, entry_offset in zip(piece.spoken, piece.offsets, strict=True):
                before = len(block)
                self._add_entry(entry, entry_offset, row, bool(transcript.agent), block)
                outputs = outputs or self._long_outputs(transcript, row)
                if outputs and outputs.names and entry.type == "user" and len(block) > before:
                    self._add_long_outputs(outputs, entry, row, block, before)
            self.held += piece.stop - offset
            offset = piece.stop
            if self.held >= BATCH:
                self._save_progress(file, transcript, (row, title_before), (state[0], -1, -1, -1), offset, block)
                self.flush()
                self._begin_transaction()
                title_before, block = (row.facts.titles, row.facts.root), []
                self.blocks.append(block)
            if self.deadline is not None and time.monotonic() > self.deadline:
                is_complete = offset >= stat.st_size
                break
        self.counts.files += is_complete
        self.counts.is_complete = self.counts.is_complete and is_complete
        self._save_progress(
            file, transcript, (row, title_before), state if is_complete else (state[0], -1, -1, -1), offset, block
        )

    def _load_row(self, transcript: TranscriptFile, moved: int | None) -> _FileRow | None:
        row = self.shard.execute(_SELECT + "path=?", (transcript.path,)).fetchone()
        if row is None and moved is not None:
            row = self.shard.execute(_SELECT + "id=?", (moved,)).fetchone()
            if row:
                self.shard.execute(
                    "UPDATE file SET path=?, folder=?, session=coalesce(nullif(?, ''), session) WHERE id=?",
                    (transcript.path, transcript.folder, transcript.session, moved),
                )
                row = self.shard.execute(_SELECT + "id=?", (moved,)).fetchone()
        if row is None:
            return None
        file_id, inode, size, mtime, ctime, offset, mark, title, *facts = row
        return _FileRow(
            file_id, (inode, size, mtime, ctime), offset, mark, title is not None, facts_from_row(tuple(facts))
        )

    def _insert_file(self, transcript: TranscriptFile) -> _FileRow:
        self.shard.execute(
            _INSERT, (transcript.path, transcript.folder, transcript.session, transcript.agent, transcript.inode)
        )
        return _FileRow(
            self.shard.last_insert_rowid(), (0, -1, -1, -1), 0, b"", False, SessionFacts(transcript.session)
        )

    def _add_entry(
        self, entry: IndexedEntry, offset: int, row: _FileRow, is_agent: bool, block: list[tuple[Any, ...]]
    ) -> None:
        """Add the pieces of an entry to the block, and its facts to those of the session."""
        facts = row.facts
        when = epoch_seconds(entry.timestamp)
        update_facts(entry, facts, when, is_agent)
        update_round(entry, facts, is_agent)
        round_columns = (facts.round, facts.round_class, input_number(entry))
        node = node_id(entry.uuid)
        facts.root = facts.root or node
        called_tools = match_results(entry, facts, offset)
        tools = iter(called_tools)
        before = len(block)
        for part, item in enumerate(words(entry, [name for name, _ in called_tools])):
            field = _FIELD_NUMBER.get(item.field)
            if field is None:
                continue
            name, call_offset = next(tools, ("", -1)) if item.field == "result" else (item.tool, -1)
            tool = self._tool_id(name) if name else 0
            if item.failed and tool:
                self._mark_call_failed((row.id, call_offset, tool), block)
            block.append(
                (
                    row.id,
                    offset,
                    part,
                    field,
                    tool,
                    int(item.failed),
                    when,
                    node,
                    prepare_text(item.text),
                    *round_columns,
                )
            )
        if node and len(block) == before and entry.type in ("user", "assistant", "system", "attachment"):
            row.textless_nodes.add(node)
        if entry.type == "summary" and entry.summary:
            summary = offset, prepare_text(" ".join(entry.summary.split()))
            if self._contains_leaf(entry.leaf, row, block):
                _choose_summary(row, summary)
            else:
                row.pending_summaries[node_id(entry.leaf)] = summary
        elif node and node in row.pending_summaries:
            _choose_summary(row, row.pending_summaries.pop(node))

    def _long_outputs(self, transcript: TranscriptFile, row: _FileRow) -> LongOutputs | None:
        """Return the long outputs of a transcript once its session is known; an agent's file may name it inside."""
        session = transcript.session or row.facts.session
        return LongOutputs(transcript.path, session) if session else None

    def _add_long_outputs(
        self, outputs: LongOutputs, entry: IndexedEntry, file_row: _FileRow, block: list[tuple[Any, ...]], first: int
    ) -> None:
        """Add the pieces of long outputs, with the tool, time and node of the results that stand for them.

        `first` is where the pieces of the entry begin in the block.
        """
        result_rows = [row for row in block[first : first + _MAX_RESULTS] if row[3] == _RESULT]
        size = 0
        for number, part, text in outputs.pieces(entry):
            if number < len(result_rows):
                _, offset, _, field, tool, failed, when, node, _, *round_columns = result_rows[number]
                block.append(
                    (file_row.id, offset, part, field, tool, failed, when, node, prepare_text(text), *round_columns)
                )
                size += len(text)
                if size >= BATCH:
                    self._insert_rows(block)
                    block.clear()
                    size = 0

    def _mark_call_failed(self, call: tuple[int, int, int], block: list[tuple[Any, ...]]) -> None:
        """Mark the input piece of a failed call, given as (file, offset, tool), so that `is:error` finds both ends."""
        position = len(block) - 1
        while position >= 0 and block[position][1] > call[1]:
            position -= 1
        while position >= 0 and block[position][1] == call[1]:
            row = block[position]
            if row[4] == call[2]:
                block[position] = (*row[:5], 1, *row[6:])
                return
            position -= 1
        self.shard.execute("UPDATE piece SET failed=1 WHERE file=? AND offset=? AND tool=?", call)

    def _contains_leaf(self, leaf: str | None, file_row: _FileRow, block: list[tuple[Any, ...]]) -> bool:
        """Return whether the entry that a summary refers to is in the same file."""
        node = node_id(leaf)
        return node != 0 and (
            node in file_row.textless_nodes
            or any(row[7] == node for row in block)
            or bool(self.shard.execute("SELECT 1 FROM piece WHERE file=? AND node=?", (file_row.id, node)).get)
        )

    def _tool_id(self, name: str) -> int:
        if name not in self.tools:
            name = name.encode("utf-8", "replace").decode()
            self.shard.execute("INSERT OR IGNORE INTO tool(name) VALUES(?)", (name,))
            self.tools[name] = int(self.shard.execute("SELECT id FROM tool WHERE name=?", (name,)).get)
        return self.tools[name]

    def _save_progress(
        self,
        file: BinaryIO,
        transcript: TranscriptFile,
        row_and_title: tuple[_FileRow, tuple[str, int]],
        state: tuple[int, int, int, int],
        offset: int,
        block: list[tuple[Any, ...]],
    ) -> None:
        """Record how far a file was read, and add a title piece if its titles or its first entry changed."""
        row, title_before = row_and_title
        titles = row.facts.titles
        if not transcript.agent and titles and ((titles, row.facts.root) != title_before or not row.has_title):
            self.shard.execute("DELETE FROM said WHERE rowid=(SELECT title FROM file WHERE id=?)", (row.id,))
            self.shard.execute("DELETE FROM piece WHERE id=(SELECT title FROM file WHERE id=?)", (row.id,))
            text = prepare_text(titles)
            node = row.facts.root and row.facts.root ^ crc32(text.encode())  # a fork has the same one
            block.append((row.id, -1, 0, TITLE, 0, 0, None, node, text, 0, 0, 0))
            row.has_title = True  # the id is set when the piece is inserted
        if not transcript.agent:
            set_shown_title(row.facts, transcript.path, state[1])
        row.mark = fingerprint(file, offset, row.offset, row.mark)
        row.offset = offset
        file_columns = (transcript.path, transcript.folder, *state, offset, row.mark)
        self.shard.execute(_UPDATE, (*file_columns, *row.facts.row(), row.id))

    def _begin_transaction(self) -> None:
        if not self.shard.in_transaction:
            self.shard.execute("BEGIN IMMEDIATE")
            self.tools.clear()  # another process may have added tools

    def flush(self) -> None:
        """Insert the collected rows and commit; rows of newer files get higher ids."""
        if not self.shard.in_transaction:
            return
        self._insert_rows([row for block in reversed(self.blocks) for row in block])
        self.shard.execute("COMMIT")
        self.counts.bytes += self.held
        self.blocks, self.held = [], 0
        if self.progress:
            self.progress(self.counts.bytes)

    def _insert_rows(self, rows: list[tuple[Any, ...]]) -> None:
        """Insert rows in the open transaction."""
        start = self._first_id(len(rows))
        said: list[tuple[Any, ...]] = []
        done: list[tuple[int, str]] = []
        pieces = []
        for number, row in enumerate(rows, start):
            pieces.append((number, *row[:8], *row[9:]))
            if row[3] < len(SPOKEN_FIELDS):
                said.append((number, *_NULLS_BEFORE[row[3]], row[8], *_NULLS_AFTER[row[3]]))
            else:
                done.append((number, row[8]))
            if row[3] == TITLE:
                self.shard.execute("UPDATE file SET title=? WHERE id=?", (number, row[0]))
        self.shard.executemany("INSERT INTO piece VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", pieces)
        self.shard.executemany(f"INSERT INTO said(rowid, {', '.join(SPOKEN_FIELDS)}) VALUES(?,?,?,?,?)", said)
        self.shard.executemany("INSERT INTO done(rowid, text) VALUES(?, ?)", done)
        self._insert_forms(rows)
        self.counts.pieces += len(pieces)

    def _insert_forms(self, rows: list[tuple[Any, ...]]) -> None:
        """Insert the other forms of the words in some rows. They stay when the rows are deleted, and then find nothing."""
        forms = set(self.forms.collect((SEARCH_FIELDS[row[3]], row[8]) for row in rows))
        self.shard.executemany("INSERT OR IGNORE INTO form VALUES(?,?,?)", forms)

    def _first_id(self, count: int) -> int:
        lowest = self.shard.execute("SELECT min(id) FROM piece").get
        if lowest is None:
            return FIRST_ROW - count
        if self.is_below and lowest > count:
            return int(lowest) - count
        return int(self.shard.execute("SELECT max(id) FROM piece").get) + 1

    def stop(self) -> None:
        """Roll back what was not committed."""
        if self.shard.in_transaction:
            self.shard.execute("ROLLBACK")


def _choose_summary(row: _FileRow, summary: tuple[int, str]) -> None:
    """Use a summary as title unless one further down in the file was chosen."""
    if summary[0] > row.summary_offset:
        row.summary_offset, row.facts.summary = summary


def delete_pieces(shard: apsw.Connection, file_id: int) -> None:
    """Delete all pieces of a file."""
    pieces: list[Any] = shard.execute("SELECT id, field FROM piece WHERE file=?", (file_id,)).fetchall()
    for table, is_said in (("said", True), ("done", False)):
        ids = [(number,) for number, field in pieces if (field < len(SPOKEN_FIELDS)) == is_said]
        shard.executemany(f"DELETE FROM {table} WHERE rowid=?", ids)
    shard.execute("DELETE FROM piece WHERE file=?", (file_id,))
    shard.execute("UPDATE file SET title=NULL WHERE id=?", (file_id,))
