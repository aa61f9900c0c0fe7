"""Writing: the rows of a shard. What was read of a file and the rows made of it are committed together.

The state of a file is read inside the same transaction, so of two processes that refresh at once each row is written by one.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from zlib import crc32

import apsw

from clew.errors import UNEXPECTED_ERRORS
from clew.facts.searchable_text import words
from clew.index.base64_filter import prepared
from clew.index.index_schema import FIELDS, MIDDLE, SAID
from clew.index.long_outputs import LongOutputs
from clew.index.session_facts import (
    COLUMNS,
    Indexed,
    SessionFacts,
    facts_of,
    input_number,
    learn,
    node_of,
    note_round,
    seconds,
    tools_of,
)
from clew.wire.bulk_scan import scan
from clew.wire.layout import is_warmup
from clew.wire.tree_walk import TranscriptFile

BATCH = 24 << 20  # bytes of transcripts for one transaction
MARK = 1024  # bytes at the beginning, and before the offset, that tell whether a file is still what it was
TITLE, _RESULT = FIELDS.index("title"), FIELDS.index("result")
_MOST_RESULTS = 256  # results in one entry whose long outputs are read
_BEFORE = [(None,) * field for field in range(len(SAID))]  # the columns beside that of a field
_AFTER = _BEFORE[::-1]
_FIELD = {name: number for number, name in enumerate(FIELDS)}
_INSERT = (
    "INSERT INTO file(path, folder, session, agent, inode, size, mtime, offset, mark) VALUES(?,?,?,?,?,-1,-1,0,x'')"
)
_UPDATE = (
    "UPDATE file SET path=?, folder=?, inode=?, size=?, mtime=?, offset=?, mark=?, "
    + ", ".join(f"{name}=?" for name in COLUMNS)
    + " WHERE id=?"
)
_SELECT = f"SELECT id, inode, size, mtime, offset, mark, title, {', '.join(COLUMNS)} FROM file WHERE "


@dataclass
class Counts:
    """What a refresh did, and whether it came to an end."""

    files: int = 0
    pieces: int = 0
    bytes: int = 0
    removed: int = 0
    is_complete: bool = True
    skipped: list[str] = field(default_factory=list)


@dataclass
class _Known:
    """A file as its row has it."""

    id: int
    state: tuple[int, int, int]
    offset: int
    mark: bytes
    has_title: bool
    facts: SessionFacts
    awaited: dict[int, tuple[int, str]] = field(default_factory=dict)  # summaries of entries that may follow
    chosen: int = -1  # the offset of the summary that was taken
    silent: set[int] = field(default_factory=set)  # entries of which no row is made, and that a summary may name


class IndexWriter:
    """Collects rows and commits them together with how far each file has been read."""

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

    def read(self, found: TranscriptFile, moved: int | None = None) -> None:
        """Read a file from where it was left, or again if it is no longer what it was."""
        try:
            with open(found.path, "rb") as file:
                self._begin()
                known = self._known(found, moved)
                below = known is None and found.mtime_ns <= (self.newest or found.mtime_ns)
                if below != self.is_below:
                    self.flush()
                    self.is_below = below
                    self._begin()
                self._read(file, found, known)
        except OSError:  # it has gone, or is not for us to read
            self.counts.is_complete = self.counts.is_complete and not os.path.exists(found.path)
        except UNEXPECTED_ERRORS:
            self._skip(found.path)

    def _skip(self, path: str) -> None:
        """Drop the rows of a file that could not be read to its end; the next refresh tries again."""
        file_id = self.shard.execute("SELECT id FROM file WHERE path=?", (path,)).get
        self.blocks = [block for block in self.blocks if not block or block[0][0] != file_id]
        if file_id is not None:  # some rows may have been written in this transaction: begin the file again
            forget(self.shard, file_id)
            self.shard.execute("UPDATE file SET size=-1, mtime=-1, offset=0, mark=x'' WHERE id=?", (file_id,))
        self.counts.skipped.append(path)

    def _read(self, file: BinaryIO, found: TranscriptFile, known: _Known | None) -> None:
        stat = os.fstat(file.fileno())
        state = (stat.st_ino & ((1 << 63) - 1), stat.st_size, stat.st_mtime_ns)
        if known and known.state == state:
            self.counts.files += 1
            return  # another clew was faster, or it has only moved
        if known and not _is_same(file, known, state):
            forget(self.shard, known.id)
            known = _Known(known.id, state, 0, b"", False, SessionFacts(found.session))
        known = known or self._new(found)
        block: list[tuple[Any, ...]] = []
        self.blocks.append(block)
        before, offset = known.facts.titles, known.offset
        outputs: LongOutputs | None = None
        is_whole = True
        if found.agent and not offset and is_warmup(found.path, stat.st_size):
            self.counts.files += 1
            self._keep(file, found, (known, before), state, 0, block)  # should it grow, it is read from its beginning
            return
        for piece in scan(file, offset=offset, finished=True, shape=Indexed):
            for entry, at in zip(piece.spoken, piece.offsets, strict=True):
                self._add(entry, at, known, bool(found.agent), block)
                outputs = outputs or self._outputs(found, known)
                if outputs and outputs.names:
                    self._add_outputs(outputs, entry, at, known, block)
            self.held += piece.stop - offset
            offset = piece.stop
            if self.held >= BATCH:
                self._keep(file, found, (known, before), (state[0], -1, -1), offset, block)
                self.flush()
                self._begin()
                before, block = known.facts.titles, []
                self.blocks.append(block)
            if self.deadline is not None and time.monotonic() > self.deadline:
                is_whole = offset >= stat.st_size
                break
        self.counts.files += is_whole
        self.counts.is_complete = self.counts.is_complete and is_whole
        self._keep(file, found, (known, before), state if is_whole else (state[0], -1, -1), offset, block)

    def _known(self, found: TranscriptFile, moved: int | None) -> _Known | None:
        row = self.shard.execute(_SELECT + "path=?", (found.path,)).fetchone()
        if row is None and moved is not None:
            row = self.shard.execute(_SELECT + "id=?", (moved,)).fetchone()
            if row:
                self.shard.execute("UPDATE file SET path=?, folder=? WHERE id=?", (found.path, found.folder, moved))
        if row is None:
            return None
        identity, inode, size, mtime, offset, mark, title, *facts = row
        return _Known(identity, (inode, size, mtime), offset, mark, title is not None, facts_of(tuple(facts)))

    def _new(self, found: TranscriptFile) -> _Known:
        self.shard.execute(_INSERT, (found.path, found.folder, found.session, found.agent, found.inode))
        return _Known(self.shard.last_insert_rowid(), (0, -1, -1), 0, b"", False, SessionFacts(found.session))

    def _add(self, entry: Indexed, at: int, known: _Known, is_agent: bool, block: list[tuple[Any, ...]]) -> None:
        """The pieces of one entry, and what it says of the session."""
        facts = known.facts
        when = seconds(entry.timestamp)
        learn(entry, facts, when, is_agent)
        note_round(entry, facts, is_agent)
        asked = (facts.round, facts.round_class, input_number(entry))
        node = node_of(entry.uuid)
        facts.root = facts.root or node
        called_tools = tools_of(entry, facts, at)
        tools = iter(called_tools)
        before = len(block)
        for part, said in enumerate(words(entry, [name for name, _ in called_tools])):
            field = _FIELD.get(said.field)
            if field is None:
                continue
            name, called = next(tools, ("", -1)) if said.field == "result" else (said.tool, -1)
            tool = self._tool(name) if name else 0
            if said.failed and tool:
                self._fail((known.id, called, tool), block)
            block.append((known.id, at, part, field, tool, int(said.failed), when, node, prepared(said.text), *asked))
        if node and len(block) == before and entry.type in ("user", "assistant", "system", "attachment"):
            known.silent.add(node)
        if entry.type == "summary" and entry.summary:
            summary = at, prepared(" ".join(entry.summary.split()))
            if self._is_own(entry.leaf, known, block):
                _choose(known, summary)
            else:
                known.awaited[node_of(entry.leaf)] = summary
        elif node and node in known.awaited:
            _choose(known, known.awaited.pop(node))

    def _outputs(self, found: TranscriptFile, known: _Known) -> LongOutputs | None:
        """The long outputs of a transcript, as soon as its session is known: an agent's file may name it inside."""
        session = found.session or known.facts.session
        return LongOutputs(found.path, session) if session else None

    def _add_outputs(
        self, outputs: LongOutputs, entry: Indexed, at: int, known: _Known, block: list[tuple[Any, ...]]
    ) -> None:
        """Add the pieces of long outputs after the results that stand for them, with their tool, time and node."""
        own = [row for row in block[-_MOST_RESULTS:] if row[1] == at and row[3] == _RESULT]
        size = 0
        for number, part, text in outputs.pieces(entry):
            if number < len(own):
                _, _, _, field, tool, failed, when, node, _, *asked = own[number]
                block.append((known.id, at, part, field, tool, failed, when, node, prepared(text), *asked))
                size += len(text)
                if size >= BATCH:
                    self._insert(block)
                    block.clear()
                    size = 0

    def _fail(self, call: tuple[int, int, int], block: list[tuple[Any, ...]]) -> None:
        """Note at what a tool was asked, in (file, offset, tool), that the call failed: `is:error` holds for both ends."""
        place = len(block) - 1
        while place >= 0 and block[place][1] > call[1]:
            place -= 1
        while place >= 0 and block[place][1] == call[1]:
            row = block[place]
            if row[4] == call[2]:
                block[place] = (*row[:5], 1, *row[6:])
                return
            place -= 1
        self.shard.execute("UPDATE piece SET failed=1 WHERE file=? AND offset=? AND tool=?", call)

    def _is_own(self, leaf: str | None, known: _Known, block: list[tuple[Any, ...]]) -> bool:
        """Whether the conversation that a summary speaks of is in the same file."""
        node = node_of(leaf)
        return node != 0 and (
            node in known.silent
            or any(row[7] == node for row in block)
            or bool(self.shard.execute("SELECT 1 FROM piece WHERE file=? AND node=?", (known.id, node)).get)
        )

    def _tool(self, name: str) -> int:
        if name not in self.tools:
            name = name.encode("utf-8", "replace").decode()
            self.shard.execute("INSERT OR IGNORE INTO tool(name) VALUES(?)", (name,))
            self.tools[name] = int(self.shard.execute("SELECT id FROM tool WHERE name=?", (name,)).get)
        return self.tools[name]

    def _keep(
        self,
        file: BinaryIO,
        found: TranscriptFile,
        known: tuple[_Known, str],
        state: tuple[int, int, int],
        offset: int,
        block: list[tuple[Any, ...]],
    ) -> None:
        """Note how far a file has been read, and its titles if they are other than before."""
        row, before = known
        titles = row.facts.titles
        if not found.agent and titles and (titles != before or not row.has_title):
            self.shard.execute("DELETE FROM said WHERE rowid=(SELECT title FROM file WHERE id=?)", (row.id,))
            self.shard.execute("DELETE FROM piece WHERE id=(SELECT title FROM file WHERE id=?)", (row.id,))
            text = prepared(titles)
            node = row.facts.root and row.facts.root ^ crc32(text.encode())  # that of a fork is the same
            block.append((row.id, -1, 0, TITLE, 0, 0, None, node, text, 0, 0, 0))
            row.has_title = True  # it gets its number when it is written
        place = (found.path, found.folder, *state, offset, mark_of(file, offset))
        self.shard.execute(_UPDATE, (*place, *row.facts.row(), row.id))

    def _begin(self) -> None:
        if not self.shard.in_transaction:
            self.shard.execute("BEGIN IMMEDIATE")
            self.tools.clear()  # what another process has added is asked for anew

    def flush(self) -> None:
        """Write what was collected; the rows of newer files get higher numbers."""
        if not self.shard.in_transaction:
            return
        self._insert([row for block in reversed(self.blocks) for row in block])
        self.shard.execute("COMMIT")
        self.counts.bytes += self.held
        self.blocks, self.held = [], 0
        if self.progress:
            self.progress(self.counts.bytes)

    def _insert(self, rows: list[tuple[Any, ...]]) -> None:
        """Write rows in the open transaction."""
        start = self._first(len(rows))
        said: list[tuple[Any, ...]] = []
        done: list[tuple[int, str]] = []
        pieces = []
        for number, row in enumerate(rows, start):
            pieces.append((number, *row[:8], *row[9:]))
            if row[3] < len(SAID):
                said.append((number, *_BEFORE[row[3]], row[8], *_AFTER[row[3]]))
            else:
                done.append((number, row[8]))
            if row[3] == TITLE:
                self.shard.execute("UPDATE file SET title=? WHERE id=?", (number, row[0]))
        self.shard.executemany("INSERT INTO piece VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", pieces)
        self.shard.executemany(f"INSERT INTO said(rowid, {', '.join(SAID)}) VALUES(?,?,?,?,?)", said)
        self.shard.executemany("INSERT INTO done(rowid, text) VALUES(?, ?)", done)
        self.counts.pieces += len(pieces)

    def _first(self, count: int) -> int:
        lowest = self.shard.execute("SELECT min(id) FROM piece").get
        if lowest is None:
            return MIDDLE - count
        if self.is_below and lowest > count:
            return int(lowest) - count
        return int(self.shard.execute("SELECT max(id) FROM piece").get) + 1

    def stop(self) -> None:
        """Undo what was not committed."""
        if self.shard.in_transaction:
            self.shard.execute("ROLLBACK")


def _choose(known: _Known, summary: tuple[int, str]) -> None:
    """Take a summary of this conversation as its title, unless one further down was taken."""
    if summary[0] > known.chosen:
        known.chosen, known.facts.summary = summary


def _is_same(file: BinaryIO, known: _Known, state: tuple[int, int, int]) -> bool:
    """Whether a file has only grown: still the same one, and before the offset the same bytes."""
    return known.state[0] == state[0] and state[1] >= known.offset and mark_of(file, known.offset) == known.mark


def mark_of(file: BinaryIO, offset: int) -> bytes:
    """A hash of the bytes at the beginning and of those before an offset."""
    file.seek(0)
    head = file.read(min(MARK, offset))
    file.seek(max(0, offset - MARK))
    return hashlib.blake2b(head + file.read(min(MARK, offset)), digest_size=8).digest()


def forget(shard: apsw.Connection, file_id: int) -> None:
    """Remove the rows that were made of a file."""
    numbers: list[Any] = shard.execute("SELECT id, field FROM piece WHERE file=?", (file_id,)).fetchall()
    for table, is_said in (("said", True), ("done", False)):
        mine = [(number,) for number, field in numbers if (field < len(SAID)) == is_said]
        shard.executemany(f"DELETE FROM {table} WHERE rowid=?", mine)
    shard.execute("DELETE FROM piece WHERE file=?", (file_id,))
    shard.execute("UPDATE file SET title=NULL WHERE id=?", (file_id,))
