"""The state file: for each file how far it was delivered, in the form that other collectors keep too.

    {"claude_code": {"files": {"~/.claude/projects/…/abc.jsonl": {"offset": 45678, "mtime": 1768263841305}}}}

The archive needs none. It is for those who share such a file with other programs: what it says was delivered is not
delivered again, and what was accepted is noted in it. It is replaced as a whole; one that is broken is a clean start.
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
from clew.collect.sinks.outbox import DELIVERABLE, bounded
from clew.collect.sinks.record import COLUMNS, Record, records
from clew.system.environment import user_home
from clew.wire.json_codec import decode, encode
from clew.wire.session_writer import create_exactly, replace

_CURRENT = f"""
SELECT f.path, f.mtime, g.offset, f.id, f.kind, CASE WHEN g.number > 1 THEN g.began ELSE 0 END
FROM file f JOIN root r ON r.id = f.root JOIN generation g ON g.id = f.generation
WHERE r.path = ? AND f.gone IS NULL AND {DELIVERABLE} ORDER BY f.path
"""


class DeliveredUpTo(NamedTuple):
    """How far a file was delivered, and its time then, in milliseconds."""

    offset: int
    mtime: int


def read_state(path: str | os.PathLike[str]) -> dict[str, DeliveredUpTo]:
    """The points in a state file by the names they have there; none of a file that is missing or broken."""
    try:
        value = decode(Path(path).read_bytes())
        files = value["claude_code"]["files"]
        return {name: DeliveredUpTo(int(row["offset"]), int(row["mtime"])) for name, row in files.items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_state(path: str | os.PathLike[str], points: dict[str, DeliveredUpTo]) -> None:
    """Put the points in the place of those that were there; what other programs keep in the file stays."""
    target = Path(path)
    try:
        value = decode(target.read_bytes())
    except (FileNotFoundError, ValueError):
        value = None
    kept = value if isinstance(value, dict) else {}
    own = kept.get("claude_code")
    files = {name: point._asdict() for name, point in sorted(points.items())}
    data = encode({**kept, "claude_code": {**(own if isinstance(own, dict) else {}), "files": files}}) + b"\n"
    if target.exists():
        replace(target, data)
    else:
        create_exactly(target, (data,))
    now = time.time_ns()  # the file system's own clock is some milliseconds behind
    os.utime(target, ns=(now, now))


def _saved(path: str) -> int:
    """When the state was written last."""
    try:
        return Path(path).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def name_of(root: str, path: str) -> str:
    """A file as the state names it: from the home folder on, if it is below that."""
    full = Path(root, path)
    home = Path(user_home())
    return f"~/{full.relative_to(home).as_posix()}" if full.is_relative_to(home) else full.as_posix()


class StateCursor:
    """A cursor in a state file. Files that are gone are dropped from it."""

    def __init__(self, connection: apsw.Connection, root: str, path: str) -> None:
        self.connection = connection
        self.root = root
        self.path = path

    def batches(self, policy: Policy) -> Iterator[list[Record]]:
        current: list[Any] = self.connection.execute(_CURRENT, (self.root,)).fetchall()
        points, saved = read_state(self.path), _saved(self.path)
        starts = {row[3]: self._start(points.get(name_of(self.root, row[0])), saved, *row[1:]) for row in current}
        begun = {name_of(self.root, row[0]) for row in current if starts[row[3]]}
        self.save({name: point for name, point in points.items() if name in begun})
        yield from bounded(self._records([row for row in current if starts[row[3]] < row[2]], starts, policy))

    def _records(self, files: list[Any], starts: dict[int, int], policy: Policy) -> Iterator[Record]:
        host = str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)
        query = f"SELECT {COLUMNS} WHERE g.id = f.generation AND f.id = ? AND o.offset >= ? ORDER BY o.offset"
        for file in files:
            yield from records(host, self.connection.execute(query, (file[3], starts[file[3]])), policy)

    def _start(
        self, point: DeliveredUpTo | None, saved: int, mtime: int, offset: int, file: int, kind: str, began: int
    ) -> int:
        """The offset of the state, if a line begins there. A file that began anew since, or is read whole, begins at 0."""
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
        for each in batch:
            points[name_of(self.root, each.path)] = DeliveredUpTo(each.end, each.mtime // 1_000_000)
        self.save(points)

    def save(self, points: dict[str, DeliveredUpTo]) -> None:
        """Write the points of the files that are there."""
        there = {name_of(self.root, row[0]) for row in self.connection.execute(_CURRENT, (self.root,))}
        write_state(self.path, {name: point for name, point in points.items() if name in there})


def note_collected(connection: apsw.Connection, root: str, path: str) -> None:
    """Without a sink the archive is what accepts: the state says how far it has read."""
    rows = connection.execute(_CURRENT, (root,))
    write_state(path, {name_of(root, row[0]): DeliveredUpTo(row[2], row[1] // 1_000_000) for row in rows})
