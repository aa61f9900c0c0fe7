"""Todo lists, tasks and plans in the index: one row of `file` and one piece for each, beside those of their session.

They are small, change as a whole, and are read again whenever their size or time differs. A plan that no transcript names
has a row and no piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from clew.index.base64_filter import prepare_text
from clew.index.index_schema import FIELDS, shard_number
from clew.index.index_writer import delete_pieces
from clew.system.sqlite_file import WriteTransaction
from clew.wire.layout import Tree
from clew.wire.tree_walk import TranscriptFile, walk_side
from clew.wire.work_files import plan_file, plan_owners, read_todo_list

OFFSET = -2  # of pieces that stand in no transcript; titles have -1
_COPIED = ("folder", "cwd", "branches", "models", "started", "ended")


@dataclass(frozen=True, slots=True)
class _SideFile:
    """A file, the field of its text, its session (none for a plan that no transcript names), and its text."""

    found: TranscriptFile
    field: str
    session: str
    text: str

    @property
    def when(self) -> int:
        return self.found.mtime_ns // 10**9


def refresh_side_files(shards: Sequence[apsw.Connection], root: str, found: Sequence[TranscriptFile]) -> int:
    """Bring the rows of side files up to date with what was found; how many pieces were written."""
    there = {file.path: (file.size, file.mtime_ns) for file in found}
    statement = "SELECT path, size, mtime, id FROM file WHERE side<>''"
    known = {(number, *row) for number, shard in enumerate(shards) for row in shard.execute(statement)}
    kept = {path for _, path, size, mtime, _ in known if there.get(path) == (size, mtime)}
    new = list(_read(root, [file for file in found if file.path not in kept]))
    written = 0
    for number, shard in enumerate(shards):
        gone = [id for where, path, _, _, id in known if where == number and path not in kept]
        mine = [one for one in new if shard_number(one.session, one.found.path) == number]
        try:
            written += _write(shard, gone, mine) if gone or mine else 0
        except apsw.BusyError:  # another process writes; the next refresh does it
            continue
    return written


def _write(shard: apsw.Connection, gone: Sequence[int], new: Sequence[_SideFile]) -> int:
    with WriteTransaction(shard):
        for id in gone:
            delete_pieces(shard, id)
            shard.execute("DELETE FROM file WHERE id=?", (id,))
        for one in new:
            _insert(shard, one)
    return len(new)


def _insert(shard: apsw.Connection, one: _SideFile) -> None:
    """A row with the project, branches and times of its session, and its text as one piece if it has a session."""
    statement = f"SELECT {', '.join(_COPIED)} FROM file WHERE session=? AND side='' AND agent=''"
    about = shard.execute(statement, (one.session,)).fetchone() or ("", None, "", "", one.when, one.when)
    shard.execute(
        f"INSERT OR REPLACE INTO file(path, session, agent, side, inode, size, mtime, offset, mark, {', '.join(_COPIED)})"
        " VALUES(?,?,?,?,0,?,?,0,x'',?,?,?,?,?,?)",
        (one.found.path, one.session, one.found.agent, one.field, one.found.size, one.found.mtime_ns, *about),
    )
    if not one.session or not one.text:
        return
    file = shard.last_insert_rowid()
    number = int(shard.execute("SELECT coalesce(max(id), 0) FROM piece").get or 0) + 1
    field = FIELDS.index(one.field)
    shard.execute("INSERT INTO piece VALUES(?,?,?,0,?,0,0,?,0,0,0,0)", (number, file, OFFSET, field, one.when))
    shard.execute("INSERT INTO done(rowid, text) VALUES(?, ?)", (number, prepare_text(one.text)))


def _read(root: str, found: Sequence[TranscriptFile]) -> Iterator[_SideFile]:
    tree = Tree(Path(root))
    for file in found:
        if file.folder != "plans":
            yield _SideFile(file, "todo", file.session, read_todo_list(file).text)
    plans = {file.path: plan_file(file) for file in found if file.folder == "plans"}
    if plans:
        owners = plan_owners(plans.values(), (file for project in tree.projects() for file in project.sessions()))
        for file in found:
            if plan := plans.get(file.path):
                session = owners.get(plan.path.stem) or owners.get(plan.name) or ""
                yield _SideFile(file, "plan", session, plan.text)


def side_text(path: str, field: str) -> str:
    """The text of a side file again; "" if it is gone."""
    file = next((file for file in walk_side(str(Path(path).parent.parent)) if file.path == path), None)
    if file is None:
        return ""
    return plan_file(file).text if field == "plan" else read_todo_list(file).text
