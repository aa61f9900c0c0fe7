"""A cursor in a JSON state file that other collectors use too: how far each file was delivered.

{"claude_code": {"files": {"~/.claude/projects/…/abc.jsonl": {"offset": 45678, "mtime": 1768263841305}}}}

The archive does not need it. It is for users who share such a file with other programs: what it lists as delivered
is not delivered again, and accepted records are noted in it. The file is replaced atomically; an invalid one counts
as empty.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from clew.collect.discovery import is_replaced_kind
from clew.collect.masking import Policy
from clew.collect.sinks.outbox import DELIVERABLE, split_batches
from clew.collect.sinks.record import COLUMNS, Record, read_records
from clew.system.environment import user_home
from clew.wire.json_codec import decode, encode
from clew.wire.session_writer import create_exactly, replace

_CURRENT_FILES = f"""
SELECT f.path, f.mtime, g.offset, f.id, f.kind, CASE WHEN g.number > 1 THEN g.began ELSE 0 END
FROM file f JOIN root r ON r.id = f.root JOIN generation g ON g.id = f.generation
WHERE r.path = ? AND f.gone IS NULL AND {DELIVERABLE} ORDER BY f.path
"""


class DeliveredUpTo(NamedTuple):
    """How far a file was delivered, and its modification time then in milliseconds."""

    offset: int
    mtime: int


def read_state(path: str | os.PathLike[str]) -> dict[str, DeliveredUpTo]:
    """Read the positions of a state file by file name; empty if the file is missing or invalid."""
    try:
        value = decode(Path(path).read_bytes())
        files = value["claude_code"]["files"]
        return {name: DeliveredUpTo(int(row["offset"]), int(row["mtime"])) for name, row in files.items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_state(path: str | os.PathLike[str], points: dict[str, DeliveredUpTo]) -> None:
    """Replace the positions in a state file; everything that other programs keep in the file is preserved."""
    target = Path(path)
    try:
        value = decode(target.read_bytes())
    except (FileNotFoundError, ValueError):
        value = None
    document = value if isinstance(value, dict) else {}
    section = document.get("claude_code")
    files = {name: point._asdict() for name, point in sorted(points.items())}
    data = (
        encode({**document, "claude_code": {**(section if isinstance(section, dict) else {}), "files": files}}) + b"\n"
    )
    if target.exists():
        replace(target, data)
    else:
        create_exactly(target, (data,))
    now = time.time_ns()  # the file system's clock lags by some milliseconds
    os.utime(target, ns=(now, now))


def _saved_at(path: str) -> int:
    """Return when the state was last written."""
    try:
        return Path(path).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def state_name(root: str, path: str) -> str:
    """Return the name of a file in the state: relative to the home folder with `~/`, if it is below it."""
    full = Path(root, path)
    home = Path(user_home())
    return f"~/{full.relative_to(home).as_posix()}" if full.is_relative_to(home) else full.as_posix()


class StateCursor:
    """A cursor in a state file. Deleted files are dropped from it."""

    def __init__(self, connection: apsw.Connection, root: str, path: str) -> None:
        self.connection = connection
        self.root = root
        self.path = path

    def batches(self, policy: Policy) -> Iterator[list[Record]]:
        current: list[Any] = self.connection.execute(_CURRENT_FILES, (self.root,)).fetchall()
        points, saved = read_state(self.path), _saved_at(self.path)
        starts = {row[3]: self._start(points.get(state_name(self.root, row[0])), saved, *row[1:]) for row in current}
        begun = {state_name(self.root, row[0]) for row in current if starts[row[3]]}
        self.save({name: point for name, point in points.items() if name in begun})
        yield from split_batches(self._records([row for row in current if starts[row[3]] < row[2]], starts, policy))

    def _records(self, files: list[Any], starts: dict[int, int], policy: Policy) -> Iterator[Record]:
        host = str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)
        query = f"SELECT {COLUMNS} WHERE g.id = f.generation AND f.id = ? AND o.offset >= ? ORDER BY o.offset"
        for file in files:
            yield from read_records(
                self.connection, host, self.connection.execute(query, (file[3], starts[file[3]])), policy
            )

    def _start(
        self, point: DeliveredUpTo | None, saved: int, mtime: int, offset: int, file: int, kind: str, began: int
    ) -> int:
        """Return the offset of the state if a line begins there; 0 for a file that was reset since, or is replaced
        as one document.
        """
        if point is None or not 0 < point.offset <= offset or began > saved:
            return 0
        if is_replaced_kind(kind):
            return offset if point.mtime == mtime // 1_000_000 else 0
        if point.offset == offset:
            return offset
        find = "SELECT 1 FROM occurrence o JOIN file f ON f.generation = o.generation WHERE f.id = ? AND o.offset = ?"
        return point.offset if self.connection.execute(find, (file, point.offset)).get else 0

    def accept(self, batch: Sequence[Record]) -> None:
        points = read_state(self.path)
        for record in batch:
            points[state_name(self.root, record.path)] = DeliveredUpTo(record.end, record.mtime // 1_000_000)
        self.save(points)

    def save(self, points: dict[str, DeliveredUpTo]) -> None:
        """Write the positions of the files that exist."""
        present = {state_name(self.root, row[0]) for row in self.connection.execute(_CURRENT_FILES, (self.root,))}
        write_state(self.path, {name: point for name, point in points.items() if name in present})


def save_archived_positions(connection: apsw.Connection, root: str, path: str) -> None:
    """Without a sink, write how far the archive has read each file."""
    rows = connection.execute(_CURRENT_FILES, (root,))
    write_state(path, {state_name(root, row[0]): DeliveredUpTo(row[2], row[1] // 1_000_000) for row in rows})
