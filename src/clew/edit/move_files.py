"""Write files to new places and remove the old ones, as one edit that can be completed or undone at any point.

The order makes an interruption harmless: the record with the digest of each new file, the new files, a note that all
are written, then the removal of the old files. Running the same move again continues where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from clew.edit.kept_files import (
    Rewrite,
    digest,
    digest_parts,
    is_swapped,
    keep,
    kept_folder,
    plan_swap,
    remove_empty_folders,
    swap,
)
from clew.edit.undo_journal import UndoJournal, UndoRecord, new_number
from clew.errors import Stale
from clew.wire.session_writer import append_exactly, create_exactly, find_leftover_drafts


class FileMove(Struct, frozen=True):
    """A file, its new place, and its content there."""

    source: Path
    target: Path
    parts: Callable[[], Iterable[bytes]]
    digest: str
    size: int
    mtime_ns: int

    @property
    def is_written(self) -> bool:
        return self.target.is_file() and digest(self.target) == self.digest


class FileAppend(Struct, frozen=True):
    """Lines to append to a file: its size before, and its size and digest afterwards."""

    path: Path
    before: int
    after: int
    digest: str
    parts: Callable[[], Iterable[bytes]]


class MoveJob(Struct, frozen=True):
    """All of one edit: files to write, files to remove without a copy, shared files to rewrite, lines to append.

    The sources of the files are removed too, unless the job only copies.
    """

    what: str
    source: str
    made: str
    root: Path
    files: Sequence[FileMove] = ()
    dropped: Sequence[Path] = ()
    rewrites: Mapping[Path, Rewrite] = field(default_factory=dict)
    appends: Sequence[FileAppend] = ()
    is_copy: bool = False


def plan_file(source: Path, target: Path, parts: Callable[[], Iterable[bytes]], mtime_ns: int) -> FileMove:
    """Plan the move of one file; its content is read once to know its digest."""
    sum, size = digest_parts(parts())
    return FileMove(source, target, parts, sum, size, mtime_ns)


def move_files(job: MoveJob) -> str:
    """Do all of a move; return the number of its undo record."""
    journal = UndoJournal()
    begun = _find_record(journal, job.source, job.made, "begun")
    number = begun.number if begun else new_number()
    old = [] if job.is_copy else [*(move.source for move in job.files), *job.dropped]
    removed = {str(path): str(_kept_path(number, path, job.root)) for path in old}
    swapped = {path: swap for path, swap in (begun.swaps if begun else {}).items() if is_swapped(Path(path), swap)}
    rewrites = {path: rewrite for path, rewrite in job.rewrites.items() if str(path) not in swapped}
    swaps = {str(path): plan_swap(path, each, _kept_path(number, path, job.root)) for path, each in rewrites.items()}
    files = {**(begun.files if begun else {}), **{str(m.target): m.digest for m in job.files if not m.is_written}}
    tails = {str(each.path): (each.before, each.after, each.digest) for each in job.appends}
    for name, tail in (begun.tails if begun else {}).items():
        tails[name] = (tail[0], *tails.get(name, tail)[1:])
    record = UndoRecord(
        *(number, "", job.what, job.source, job.made, files),
        removed=removed,
        swaps={**swapped, **swaps},
        tails=tails,
    )
    journal.begin_move(record)
    for draft in (draft for path in files for draft in find_leftover_drafts(Path(path))):
        draft.unlink(missing_ok=True)
    for move in job.files:
        _write(move)
    for each in job.appends:
        _append(each)
    for path, rewrite in rewrites.items():
        swap(path, rewrite, Path(swaps[str(path)].kept))
    journal.advance(number, "written")
    _remove_sources(record, job.root)
    journal.advance(number, "done")
    return number


def is_interrupted(job: MoveJob) -> bool:
    """Return True if the same job was started before and did not finish."""
    return _find_record(UndoJournal(), job.source, job.made, "begun") is not None


def finish_interrupted(source: str, made: str) -> UndoRecord | None:
    """Remove the old files of a move that was interrupted after it had written all new ones."""
    journal = UndoJournal()
    record = _find_record(journal, source, made, "written")
    if record is None:
        return None
    _remove_sources(record, None)
    journal.advance(record.number, "done")
    return replace(record, state="done")


def _find_record(journal: UndoJournal, source: str, made: str, state: str) -> UndoRecord | None:
    return next((r for r in journal.records() if (r.source, r.made, r.state) == (source, made, state)), None)


def _write(move: FileMove) -> None:
    if not move.is_written:
        create_exactly(move.target, move.parts(), mtime_ns=move.mtime_ns)
    if not move.is_written:
        move.target.unlink()
        raise Stale(str(move.source))


def _append(each: FileAppend) -> None:
    """Append to a file that has not changed since the job was planned."""
    if each.path.stat().st_size != each.before:
        raise Stale(str(each.path))
    append_exactly(each.path, b"".join(each.parts()))


def _remove_sources(record: UndoRecord, root: Path | None) -> None:
    for path, kept in record.removed.items():
        keep(Path(path), Path(kept))
    parents = {Path(path).parent for path in record.removed}
    top = root / "projects" if root else Path(os.path.commonpath([p.parent for p in parents])) if parents else None
    if top:
        remove_empty_folders(parents, top)


def _kept_path(number: str, path: Path, root: Path) -> Path:
    inside = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
    return kept_folder(number) / inside
