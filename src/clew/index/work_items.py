"""Index todo lists, tasks and plans: one row of `file` and one piece for each.

They are small, change completely, and are read again whenever size or time differs. A plan that no transcript names
has a row but no piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from clew.index.file_rows import delete_pieces
from clew.index.index_schema import shard_number
from clew.index.piece_writer import PieceWriter
from clew.index.query_syntax import SEARCH_FIELDS
from clew.system.sqlite_file import WriteTransaction
from clew.wire.layout import Tree
from clew.wire.tree_walk import TranscriptFile, list_side_files
from clew.wire.work_files import plan_file, plan_owners, read_todo_list

SIDE_OFFSET = -2  # of pieces outside transcripts; titles have -1
_SESSION_COLUMNS = ("folder", "cwd", "branches", "models", "started", "ended")


@dataclass(frozen=True, slots=True)
class _SideFile:
    """A side file, the field of its text, its session ("" for a plan that no transcript names), and its text."""

    file: TranscriptFile
    field: str
    session: str
    text: str

    @property
    def when(self) -> int:
        return self.file.mtime_ns // 10**9


def refresh_side_files(shards: Sequence[apsw.Connection], root: str, files: Sequence[TranscriptFile]) -> int:
    """Update the rows of side files. Return how many pieces were written."""
    on_disk = {file.path: (file.size, file.mtime_ns) for file in files}
    statement = "SELECT path, size, mtime, id FROM file WHERE side<>''"
    known = {(number, *row) for number, shard in enumerate(shards) for row in shard.execute(statement)}
    unchanged = {path for _, path, size, mtime, _ in known if on_disk.get(path) == (size, mtime)}
    new = list(_read_side_files(root, [file for file in files if file.path not in unchanged]))
    written = 0
    for number, shard in enumerate(shards):
        stale_ids = [id for row_shard, path, _, _, id in known if row_shard == number and path not in unchanged]
        shard_files = [side_file for side_file in new if shard_number(side_file.session, side_file.file.path) == number]
        try:
            written += _write(shard, stale_ids, shard_files) if stale_ids or shard_files else 0
        except apsw.BusyError:  # another process is writing; the next refresh tries again
            continue
    return written


def _write(shard: apsw.Connection, stale_ids: Sequence[int], new: Sequence[_SideFile]) -> int:
    with WriteTransaction(shard):
        for id in stale_ids:
            delete_pieces(shard, id)
            shard.execute("DELETE FROM file WHERE id=?", (id,))
        writer = PieceWriter(shard)
        writer.put_below(False)
        for side_file in new:
            _insert(writer, side_file)
        writer.insert()
    return len(new)


def _insert(writer: PieceWriter, side_file: _SideFile) -> None:
    """Insert a row with project, branches and times of its session; and its text as one piece if it has a session."""
    shard = writer.shard
    statement = f"SELECT {', '.join(_SESSION_COLUMNS)} FROM file WHERE session=? AND side='' AND agent=''"
    session_values = shard.execute(statement, (side_file.session,)).fetchone() or (
        "",
        None,
        "",
        "",
        side_file.when,
        side_file.when,
    )
    shard.execute(
        "INSERT OR REPLACE INTO file(path, session, agent, side, inode, size, mtime, offset, mark,"
        f" {', '.join(_SESSION_COLUMNS)})"
        " VALUES(?,?,?,?,0,?,?,0,x'',?,?,?,?,?,?)",
        (
            side_file.file.path,
            side_file.session,
            side_file.file.agent,
            side_file.field,
            side_file.file.size,
            side_file.file.mtime_ns,
            *session_values,
        ),
    )
    if not side_file.session or not side_file.text:
        return
    file = shard.last_insert_rowid()
    field = SEARCH_FIELDS.index(side_file.field)
    writer.add((file, SIDE_OFFSET, 0, field, 0, 0, side_file.when, 0, 0, 0, 0), side_file.text)


def _read_side_files(root: str, files: Sequence[TranscriptFile]) -> Iterator[_SideFile]:
    tree = Tree(Path(root))
    for file in files:
        if file.folder != "plans":
            yield _SideFile(file, "todo", file.session, read_todo_list(file).text)
    plans = {file.path: plan_file(file) for file in files if file.folder == "plans"}
    if plans:
        owners = plan_owners(plans.values(), (file for project in tree.projects() for file in project.sessions()))
        for file in files:
            if plan := plans.get(file.path):
                session = owners.get(plan.path.stem) or owners.get(plan.name) or ""
                yield _SideFile(file, "plan", session, plan.text)


def read_side_text(path: str, field: str) -> str:
    """Read the text of a side file again; "" if it is gone."""
    file = next((file for file in list_side_files(str(Path(path).parent.parent)) if file.path == path), None)
    if file is None:
        return ""
    return plan_file(file).text if field == "plan" else read_todo_list(file).text
