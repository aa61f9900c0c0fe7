"""Record what clew wrote and where, so that it can be undone.

The journal is a JSON Lines file in the user's data folder. A record starts before the first file is created and ends
after the last one; a record without an end names what an interrupted write left. A line that was appended to a
session is recorded with the size of the file before, and with the line that reverts it if other lines follow.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from clew.conversation.load import read
from clew.conversation.session import Session
from clew.errors import Busy, NotFound, Refused
from clew.system.environment import data_home
from clew.wire.json_codec import decode, encode
from clew.wire.line import lines
from clew.wire.session_writer import append, create, find_leftover_drafts, undo_append
from clew.wire.timestamps import format_timestamp, parse_timestamp

NAME = "journal.jsonl"
_CHUNK = 1 << 20
_MAX_DURATION = timedelta(hours=1)  # longer than any write takes


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """One edit that clew wrote."""

    number: str
    time: str
    what: str
    source: str
    made: str
    files: Mapping[str, str]  # their paths with a digest of what was written; empty until all of it was
    state: str = "begun"
    process: int = 0  # the process that wrote it
    added: Mapping[str, Any] = field(
        default_factory=dict
    )  # path, size before, line, former: the line that takes it back

    @property
    def is_unfinished(self) -> bool:
        return self.state == "begun"

    @property
    def is_undone(self) -> bool:
        return self.state == "undone"


class UndoJournal:
    """The records in a folder, oldest first."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(folder or data_home()) / NAME

    def begin(self, what: str, source: str, made: str, files: Sequence[Path]) -> str:
        """Record what is about to be written; return the number of the record."""
        number = uuid4().hex[:8]
        paths = dict.fromkeys(map(str, files), "")
        row = {"number": number, "what": what, "source": source, "made": made, "files": paths, "state": "begun"}
        self._add(row | {"process": os.getpid()})
        return number

    def note(self, what: str, source: str, path: Path, line: Mapping[str, Any], former: Mapping[str, Any]) -> str:
        """Record that a line is about to be appended to a session, and the line that reverts it."""
        number = uuid4().hex[:8]
        added = {"path": str(path), "size": path.stat().st_size, "line": line, "former": former}
        self._add({"number": number, "what": what, "source": source, "added": added, "state": "done"})
        return number

    def end(self, number: str, files: Sequence[Path]) -> None:
        self._add({"number": number, "files": {str(path): digest(path) for path in files}, "state": "done"})

    def undone(self, number: str) -> None:
        self._add({"number": number, "state": "undone"})

    def records(self) -> tuple[UndoRecord, ...]:
        """Return each record in its latest state."""
        rows: dict[str, dict[str, Any]] = {}
        if os.path.exists(self.path):
            for line in lines(self.path):
                try:
                    row = decode(line.json)
                except ValueError:
                    continue  # a truncated line
                if isinstance(row, dict) and isinstance(row.get("number"), str):
                    rows.setdefault(row["number"], {"time": row.get("time", "")}).update(
                        {key: value for key, value in row.items() if key != "time"}
                    )
        return tuple(_parse_record(row) for row in rows.values())

    def find(self, query: str | None) -> UndoRecord:
        """Return a record by its number or its session; without either the last one that is not undone."""
        standing = [r for r in self.records() if not r.is_undone]
        if query is not None:
            word = query.lower()
            numbered = [r for r in standing if r.number == word]
            standing = numbered or [r for r in standing if (r.made or r.source).startswith(word)]
        if not standing:
            raise NotFound(
                query or "the last edit", kind="edit by clew", hint="List what clew wrote with: clew undo --list"
            )
        return standing[-1]

    def _add(self, row: Mapping[str, Any]) -> None:
        line = encode({"time": format_timestamp(datetime.now(UTC)), **row})
        if not os.path.exists(self.path):
            with suppress(FileExistsError):  # another process created it
                create(self.path, [])
        append(self.path, [line])


def undo(record: UndoRecord, journal: UndoJournal, *, dry_run: bool = False) -> tuple[Path, ...]:
    """Remove the files of a record, or the appended line. Return what was removed or changed.

    If other lines follow, append a line that reverts the first one instead. Raises Refused if the files were changed
    since.
    """
    if record.added:
        return _undo_line(record, journal, dry_run)
    if record.is_unfinished and _is_running(record):
        raise Busy(record.made, record.time, hint="It is being written. Try again when that has finished.")
    present = [Path(path) for path in record.files if os.path.lexists(path)]
    changed = [path.name for path in present if record.files[str(path)] not in ("", digest(path))]
    if changed:
        raise Refused(
            [f"{name} was changed since clew wrote it" for name in changed],
            hint="It may contain new turns. To remove it anyway, delete the file yourself.",
        )
    drafts = (
        [draft for path in map(Path, record.files) for draft in find_leftover_drafts(path)]
        if record.is_unfinished
        else []
    )
    if not dry_run:
        _remove_files([*present, *drafts], record)
        journal.undone(record.number)
    return (*present, *drafts)


def _remove_files(paths: Sequence[Path], record: UndoRecord) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
    folders = {parent for path in map(Path, record.files) for parent in path.parents if record.made in parent.parts}
    for folder in sorted(folders, key=lambda folder: -len(folder.parts)):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _undo_line(record: UndoRecord, journal: UndoJournal, dry_run: bool) -> tuple[Path, ...]:
    path, line, former = Path(record.added["path"]), record.added["line"], record.added["former"]
    session = read(path)
    is_newest = newest_line(session, line["type"]) == line
    if not is_newest and any(
        encode(entry.data) == encode(line) for entry in session.entries if entry.type == line["type"]
    ):
        raise Refused(
            [f"{path.stem[:8]} got another {line['type']} since"],
            hint="Set the one you want with clew retitle or clew tag.",
        )
    if not dry_run:
        if is_newest and not _remove_line(path, record.added):
            append(path, [dict(former)])
        journal.undone(record.number)
    return (path,)


def _remove_line(path: Path, added: Mapping[str, Any]) -> bool:
    """Remove a line that is still the last of its file; return False if it is not, or if the size before is unknown."""
    size = added.get("size")
    return isinstance(size, int) and size >= 0 and undo_append(path, size, dict(added["line"]))


def newest_line(session: Session, kind: str) -> dict[str, Any] | None:
    """Return the last line of a type of which only the newest counts."""
    return next((e.data for e in reversed(session.entries) if e.type == kind), None)


def _is_running(record: UndoRecord) -> bool:
    """Return whether the process that started a record may still be writing."""
    if not record.process or record.process == os.getpid() or sys.platform == "win32":
        return False
    begun = parse_timestamp(record.time)
    if begun is None or datetime.now(UTC) - begun > _MAX_DURATION:
        return False
    try:
        os.kill(record.process, 0)
    except OSError:
        return False
    return True


def digest(path: Path) -> str:
    total = sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total.update(chunk)
    return total.hexdigest()


def _parse_record(row: Mapping[str, Any]) -> UndoRecord:
    files = row.get("files")
    return UndoRecord(
        number=str(row["number"]),
        time=str(row.get("time", "")),
        what=str(row.get("what", "")),
        source=str(row.get("source", "")),
        made=str(row.get("made", "")),
        files=files if isinstance(files, dict) else {},
        state=str(row.get("state", "")),
        process=process if isinstance(process := row.get("process"), int) else 0,
        added=added if isinstance(added := row.get("added"), dict) else {},
    )
