"""Make rows of pieces from the entries of a transcript."""

from __future__ import annotations

from zlib import crc32

from clew.facts.searchable_text import Words, words
from clew.index.base64_filter import prepare_text
from clew.index.file_rows import FileRow
from clew.index.long_outputs import LongOutputs
from clew.index.piece_writer import TITLE, PieceWriter
from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.session_facts import (
    IndexedEntry,
    epoch_seconds,
    input_number,
    match_results,
    node_id,
    update_facts,
    update_round,
)
from clew.wire.tree_walk import TranscriptFile

_RESULT = SEARCH_FIELDS.index("result")
_MAX_RESULTS = 256  # results in one entry whose long outputs are read
_MAX_COLLECTED = 4 << 20  # characters of long outputs that are inserted together
_FIELD_NUMBER = {name: number for number, name in enumerate(SEARCH_FIELDS)}
_WITH_TEXT = frozenset(("user", "assistant", "system", "attachment"))  # types of entries that can have pieces


class PieceRows:
    """Makes the rows of one file for a writer, and adds the facts of its entries to the row of the file."""

    def __init__(self, writer: PieceWriter, transcript: TranscriptFile, row: FileRow) -> None:
        self.writer, self.transcript, self.row = writer, transcript, row
        self.is_agent = bool(transcript.agent)
        self.outputs: LongOutputs | None = None
        self._title = (row.facts.titles, row.facts.root) if row.has_title else None  # what its piece was made of

    @property
    def has_new_title(self) -> bool:
        """Whether the session has titles, but no piece for them and its first entry."""
        facts = self.row.facts
        return bool(facts.titles) and (facts.titles, facts.root) != self._title

    def add(self, entry: IndexedEntry, offset: int) -> None:
        """Add the pieces of an entry, and its facts."""
        row, rows = self.row, self.writer.rows
        facts = row.facts
        kind = entry.type
        when = epoch_seconds(entry.timestamp)
        update_facts(entry, facts, when, self.is_agent)
        node = node_id(entry.uuid)
        if not facts.root:
            facts.root = node
        if kind in _WITH_TEXT:
            before = len(rows)
            update_round(entry, facts, when, self.is_agent)
            called_tools = match_results(entry, facts, offset)
            if pieces := words(entry, [name for name, _ in called_tools] if called_tools else ()):
                columns = (when, node, facts.round, facts.round_class, input_number(entry))
                self._add_pieces(pieces, offset, called_tools, columns)
            if len(rows) == before:
                if node:
                    row.textless_nodes.add(node)
            elif kind == "user":
                self._add_long_outputs(entry, before)
        elif entry.message is not None:  # of an unknown type
            match_results(entry, facts, offset)
        elif kind == "summary" and entry.summary:
            self._add_summary((offset, prepare_text(" ".join(entry.summary.split()))[0]), node_id(entry.leaf))
            return
        if node and node in row.pending_summaries:
            row.choose_summary(*row.pending_summaries.pop(node))

    def _add_pieces(
        self,
        pieces: list[Words],
        offset: int,
        called_tools: list[tuple[str, int]],
        columns: tuple[int | None, int, int, int, int],
    ) -> None:
        """Add a row for each piece; the tools of results are the called ones, in order."""
        file_id, writer = self.row.id, self.writer
        called = iter(called_tools)
        for part, piece in enumerate(pieces):
            field = _FIELD_NUMBER.get(piece.field)
            if field is None:
                continue
            name, call_offset = next(called, ("", -1)) if field == _RESULT else (piece.tool, -1)
            tool = writer.tool_id(name) if name else 0
            if piece.failed and tool:
                self._mark_call_failed(call_offset, tool)
            writer.add((file_id, offset, part, field, tool, int(piece.failed), *columns), piece.text)

    def add_title(self) -> None:
        """Add a piece for the titles of the session. It has no place in the file."""
        facts = self.row.facts
        self._title = (facts.titles, facts.root)
        text = facts.titles
        node = facts.root and facts.root ^ crc32(prepare_text(text)[0].encode())  # a fork has the same one
        self.writer.add((self.row.id, -1, 0, TITLE, 0, 0, None, node, 0, 0, 0), text)

    def _add_long_outputs(self, entry: IndexedEntry, first: int) -> None:
        """Add the pieces of long outputs, with the tool, time and node of the results that stand for them.

        `first` is where the pieces of the entry begin in the rows.
        """
        if self.outputs is None:  # an agent's file may name its session inside
            session = self.transcript.session or self.row.facts.session
            self.outputs = LongOutputs(self.transcript.path, session) if session else None
        if self.outputs is None or not self.outputs.names:
            return
        results = [row for row in self.writer.rows[first : first + _MAX_RESULTS] if row[3] == _RESULT]
        size = 0
        for number, part, text in self.outputs.pieces(entry):
            if number < len(results):
                row = results[number]
                self.writer.add((*row[:2], part, *row[3:]), text)
                size += len(text)
                if size >= _MAX_COLLECTED:
                    self.writer.insert()
                    size = 0

    def _mark_call_failed(self, offset: int, tool: int) -> None:
        """Mark the input piece of a failed call, given by its offset and tool, so that `is:error` finds both ends."""
        rows, call = self.writer.rows, (self.row.id, offset, tool)
        for position in range(len(rows) - 1, -1, -1):
            row = rows[position]
            if row[1] < offset or row[0] != self.row.id:
                break
            if row[1] == offset and row[4] == tool:
                rows[position] = (*row[:5], 1, *row[6:])
                return
        if (number := self.writer.inputs.get(call)) is not None:
            self.writer.shard.execute("UPDATE piece SET failed=1 WHERE id=?", (number,))
        else:
            self.writer.shard.execute("UPDATE piece SET failed=1 WHERE file=? AND offset=? AND tool=?", call)

    def _add_summary(self, summary: tuple[int, str], leaf: int) -> None:
        """Use a summary as title if the entry that it refers to is in the same file, above or below it."""
        row = self.row
        is_above = leaf != 0 and (
            leaf in row.textless_nodes
            or any(piece[0] == row.id and piece[7] == leaf for piece in self.writer.rows)
            or bool(self.writer.shard.execute("SELECT 1 FROM piece WHERE file=? AND node=?", (row.id, leaf)).get)
        )
        if is_above:
            row.choose_summary(*summary)
        else:
            row.pending_summaries[leaf] = summary
