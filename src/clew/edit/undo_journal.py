"""Record what clew wrote and where, so that it can be undone.

The journal is a JSON Lines file in the user's data folder. A record starts before the first file is created and ends
after the last one; a record without an end names what an interrupted write left. A line that was appended to a
session is recorded with the size of the file before, and with the line that reverts it if other lines follow. A move
also names the files that it removed and where they are kept, and the shared files whose content it replaced.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from clew.conversation.session import Session
from clew.edit.kept_files import (
    Swap,
    digest,
    give_back,
    kept_folder,
    remove_empty_folders,
    swap_rows,
    swaps_of,
    undo_swap,
)
from clew.errors import Busy, NotFound, Refused
from clew.system.environment import data_home
from clew.wire.json_codec import decode, encode
from clew.wire.line import lines
from clew.wire.session_writer import append, create, find_leftover_drafts, truncate, undo_append
from clew.wire.timestamps import format_timestamp, parse_timestamp

NAME = "journal.jsonl"
_MAX_DURATION = timedelta(hours=1)  # longer than any write takes


def new_number() -> str:
    return os.urandom(4).hex()


class UndoRecord(Struct, frozen=True):
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
    removed: Mapping[str, str] = field(default_factory=dict)  # the files that were removed, and where each is kept
    swaps: Mapping[str, Swap] = field(default_factory=dict)  # shared files whose content was replaced
    tails: Mapping[str, tuple[int, int, str]] = field(default_factory=dict)  # size before, size after, digest after
    deleted: Mapping[str, Any] = field(default_factory=dict)  # archive, sessions, files with how to bring them back

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that were written or deleted."""
        return tuple(map(str, self.deleted.get("sessions", ()))) or (self.made or self.source,)

    @property
    def is_unfinished(self) -> bool:
        return self.state in ("begun", "written")

    @property
    def is_of_folder(self) -> bool:
        """Whether this edit was of many sessions: then `made` is the path of a folder, not the id of a session."""
        return "/" in self.made or "\\" in self.made

    @property
    def is_undone(self) -> bool:
        return self.state == "undone"


class UndoJournal:
    """The records in a folder, oldest first."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(folder or data_home()) / NAME

    def begin(self, what: str, source: str, made: str, files: Sequence[Path]) -> str:
        """Record what is about to be written; return the number of the record."""
        number = new_number()
        paths = dict.fromkeys(map(str, files), "")
        row = {"number": number, "what": what, "source": source, "made": made, "files": paths, "state": "begun"}
        self._add(row | {"process": os.getpid()})
        return number

    def begin_move(self, record: UndoRecord) -> None:
        """Record what a move is about to write, with digests, and what it is about to remove."""
        names = ("number", "what", "source", "made", "files", "removed", "tails")
        row = {name: getattr(record, name) for name in names}
        self._add(row | {"swaps": swap_rows(record.swaps), "state": "begun", "process": os.getpid()})

    def advance(self, number: str, state: str) -> None:
        """Record that a move reached a state: "written", when it starts to remove files, or "done"."""
        self._add({"number": number, "state": state})

    def note(self, what: str, source: str, path: Path, line: Mapping[str, Any], former: Mapping[str, Any]) -> str:
        """Record that a line is about to be appended to a session, and the line that reverts it."""
        number = new_number()
        added = {"path": str(path), "size": path.stat().st_size, "line": line, "former": former}
        self._add({"number": number, "what": what, "source": source, "added": added, "state": "done"})
        return number

    def begin_deletion(self, sessions: Sequence[str], archive: str, files: Mapping[str, Any]) -> str:
        """Record that sessions are about to be deleted, and how to bring their files back."""
        number = new_number()
        deleted = {"archive": archive, "sessions": list(sessions), "files": files}
        row = {"number": number, "what": "delete", "source": sessions[0], "deleted": deleted, "state": "begun"}
        self._add(row | {"process": os.getpid()})
        return number

    def end_deletion(self, number: str) -> None:
        self._add({"number": number, "state": "done"})

    def end(self, number: str, files: Sequence[Path]) -> None:
        """Record that an edit is complete, with the digest of each of its files."""
        self.end_verified(number, {path: digest(path) for path in files})

    def end_verified(self, number: str, digests: Mapping[Path, str]) -> None:
        """Record that an edit is complete; the digests are those of the files as they were read back."""
        self._add({"number": number, "files": {str(path): sum for path, sum in digests.items()}, "state": "done"})

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
            standing = numbered or [r for r in standing if any(id.startswith(word) for id in r.sessions)]
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
    if record.deleted:
        raise Refused(["a deletion is undone from the archive"], hint=f"Use: clew undo {record.number}")
    if record.is_unfinished and is_running(record):
        raise Busy(record.made, record.time, hint="It is being written. Try again when that has finished.")
    if record.is_of_folder:
        return _undo_move(record, journal, dry_run)
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


def forget(record: UndoRecord, journal: UndoJournal, *, dry_run: bool = False) -> int:
    """Delete the files that a finished move keeps, so that it can no longer be undone. Return their size."""
    if not record.removed or record.is_unfinished:
        raise Refused([f"{record.number} keeps no files"], hint="Only a finished move does: see clew undo --list")
    kept = [path for path in kept_folder(record.number).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in kept)
    if not dry_run:
        journal.undone(record.number)
        for path in kept:
            path.unlink()
        remove_empty_folders({path.parent for path in kept}, kept_folder("").parent)
    return size


def _undo_move(record: UndoRecord, journal: UndoJournal, dry_run: bool) -> tuple[Path, ...]:
    """Put back what a move removed, then remove what it wrote. Refuse if anything was changed since."""
    back = {Path(path): Path(kept) for path, kept in record.removed.items() if os.path.lexists(kept)}
    written = [Path(path) for path in record.files if os.path.lexists(path)]
    changed = [path for path in written if digest(path) != record.files[str(path)]]
    changed += [path for path in back if os.path.lexists(path) and digest(path) != digest(back[path])]
    changed += [Path(path) for path, (before, *after) in record.tails.items() if not _ends_with(path, before, after)]
    if changed:
        raise Refused(
            [f"{path} was changed since" for path in changed[:5]],
            hint="It may contain new turns. Move it yourself, or use clew move in the other direction.",
        )
    if not dry_run:
        for path, kept in back.items():
            give_back(kept, path)
        for path in written:
            path.unlink(missing_ok=True)
        for name, (before, after, _) in record.tails.items():
            truncate(name, before, after)
        for name, swap in record.swaps.items():
            undo_swap(Path(name), swap)
        for draft in (draft for path in map(Path, record.files) for draft in find_leftover_drafts(path)):
            draft.unlink(missing_ok=True)
        remove_empty_folders([path.parent for path in written], _common_folder(record))
        remove_empty_folders([kept.parent for kept in map(Path, record.removed.values())], kept_folder("").parent)
        journal.undone(record.number)
    return (*back, *written, *map(Path, record.tails), *map(Path, record.swaps))


def _ends_with(path: str, before: int, after: Sequence[Any]) -> bool:
    """Return True if a file has the size and content that an edit gave it, or is as it was before."""
    size, expected = after
    current = os.path.getsize(path) if os.path.isfile(path) else -1
    return current == before or (current == size and digest(Path(path)) == expected)


def _common_folder(record: UndoRecord) -> Path:
    """Return the folder below which a move wrote, which itself stays."""
    parents = [str(Path(path).parent) for path in record.files]
    return Path(os.path.commonpath(parents)).parent if parents else Path(os.sep)


def _remove_files(paths: Sequence[Path], record: UndoRecord) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
    folders = {parent for path in map(Path, record.files) for parent in path.parents if record.made in parent.parts}
    for folder in sorted(folders, key=lambda folder: -len(folder.parts)):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _undo_line(record: UndoRecord, journal: UndoJournal, dry_run: bool) -> tuple[Path, ...]:
    from clew.conversation.load import read

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


def is_running(record: UndoRecord) -> bool:
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
        removed=removed if isinstance(removed := row.get("removed"), dict) else {},
        swaps=swaps_of(row.get("swaps")),
        tails={path: tuple(tail) for path, tail in tails.items()}
        if isinstance(tails := row.get("tails"), dict)
        else {},
        deleted=deleted if isinstance(deleted := row.get("deleted"), dict) else {},
    )
