"""Load and save the rows of `file`: how far a transcript was read, and what it says about its session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import apsw

from clew.index.index_schema import SPOKEN_FIELDS
from clew.index.session_facts import COLUMNS, SessionFacts, facts_from_row
from clew.wire.tree_walk import TranscriptFile

FileState = tuple[int, int, int, int]  # inode, size, mtime, ctime
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
class FileRow:
    """A row of `file`, and the state of reading its file."""

    id: int
    state: FileState
    offset: int
    mark: bytes
    has_title: bool
    facts: SessionFacts
    pending_summaries: dict[int, tuple[int, str]] = field(default_factory=dict)  # by the node that may follow
    summary_offset: int = -1  # where the chosen summary is
    textless_nodes: set[int] = field(default_factory=set)  # entries without pieces, which a summary may refer to

    def choose_summary(self, offset: int, text: str) -> None:
        """Use a summary as title unless one further down in the file was chosen."""
        if offset > self.summary_offset:
            self.summary_offset, self.facts.summary = offset, text


def load_row(shard: apsw.Connection, transcript: TranscriptFile, moved: int | None) -> FileRow | None:
    """Load the row of a transcript; `moved` is the id of the row that it had under another path."""
    row: Any = shard.execute(_SELECT + "path=?", (transcript.path,)).fetchone()
    if row is None and moved is not None:
        shard.execute(
            "UPDATE file SET path=?, folder=?, session=coalesce(nullif(?, ''), session) WHERE id=?",
            (transcript.path, transcript.folder, transcript.session, moved),
        )
        row = shard.execute(_SELECT + "id=?", (moved,)).fetchone()
    if row is None:
        return None
    file_id, inode, size, mtime, ctime, offset, mark, title, *facts = row
    return FileRow(file_id, (inode, size, mtime, ctime), offset, mark, title is not None, facts_from_row(tuple(facts)))


def insert_row(shard: apsw.Connection, transcript: TranscriptFile) -> FileRow:
    """Insert the row of a transcript of which nothing was read."""
    values = (transcript.path, transcript.folder, transcript.session, transcript.agent, transcript.inode)
    shard.execute(_INSERT, values)
    return FileRow(shard.last_insert_rowid(), (0, -1, -1, -1), 0, b"", False, SessionFacts(transcript.session))


def save_row(shard: apsw.Connection, transcript: TranscriptFile, row: FileRow, state: FileState) -> None:
    values = (transcript.path, transcript.folder, *state, row.offset, row.mark, *row.facts.row(), row.id)
    shard.execute(_UPDATE, values)


def reset_row(shard: apsw.Connection, file_id: int) -> None:
    """Delete the pieces of a file, which is then read again from its start."""
    delete_pieces(shard, file_id)
    shard.execute("UPDATE file SET size=-1, mtime=-1, offset=0, mark=x'' WHERE id=?", (file_id,))


def delete_pieces(shard: apsw.Connection, file_id: int) -> None:
    """Delete all pieces of a file."""
    pieces: list[Any] = shard.execute("SELECT id, field FROM piece WHERE file=?", (file_id,)).fetchall()
    for table, is_said in (("said", True), ("done", False)):
        ids = [(number,) for number, field in pieces if (field < len(SPOKEN_FIELDS)) == is_said]
        shard.executemany(f"DELETE FROM {table} WHERE rowid=?", ids)
    for table in ("piece", "run"):
        shard.execute(f"DELETE FROM {table} WHERE file=?", (file_id,))
    shard.execute("UPDATE file SET title=NULL WHERE id=?", (file_id,))
