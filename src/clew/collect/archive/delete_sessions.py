"""Delete sessions that the archive has byte for byte, and bring them back.

Each file is set aside under another name, compared with the archive once more, and only then deleted. So a line that
Claude Code appends at that moment is never lost, and an interrupted deletion leaves a file or its copy in the archive.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from clew.collect.archive.reader import Archive, ArchivedFile
from clew.errors import NotFound, Refused, StoreError
from clew.wire.content_time import last_used
from clew.wire.layout import SessionFile, Tree
from clew.wire.running_sessions import running_sessions
from clew.wire.session_writer import create_exactly, find_leftover_drafts

RECENT = timedelta(minutes=5)  # a session used so recently may still be open in a version that keeps no registry
_ASIDE = ".deleted"


class Deletion(NamedTuple):
    """A session that could be deleted: its files on the disk, side files first, each with its copy in the archive.

    `problem` says why it cannot be deleted now; it is empty otherwise.
    """

    session: SessionFile
    files: tuple[tuple[Path, ArchivedFile | None], ...]
    size: int
    problem: str = ""


def plan_deletions(archive: Archive | None, tree: Tree, sessions: Iterable[SessionFile]) -> list[Deletion]:
    """Plan to delete sessions of a tree: list their files, and compare each with the archive."""
    root = os.path.realpath(tree.root)
    archived = {file.path: file for file in archive.files(root=root)} if archive else {}
    copies = Counter(file.id for project in tree.projects() for file in project.sessions())
    running = set(running_sessions(tree.root))
    return [_plan(archive, archived, tree, session, copies[session.id] > 1, running) for session in sessions]


def _plan(
    archive: Archive | None,
    archived: Mapping[str, ArchivedFile],
    tree: Tree,
    session: SessionFile,
    has_copy: bool,
    running: set[str],
) -> Deletion:
    paths = list(dict.fromkeys([*_side_files(tree, session, has_copy), session.path]))
    files = tuple((path, archived.get(path.relative_to(tree.root).as_posix())) for path in paths)
    size = sum(path.lstat().st_size for path in paths)
    return Deletion(session, files, size, _problem(archive, session, files, running))


def session_size(tree: Tree, session: SessionFile) -> int:
    """Return the bytes of a session with its side files."""
    return sum(path.lstat().st_size for path in {*_side_files(tree, session, False), session.path})


def _side_files(tree: Tree, session: SessionFile, has_copy: bool) -> Iterator[Path]:
    """Yield the files that belong to a session; those shared with a copy in another project stay."""
    yield from _files_below(session.folder)
    beside = (path for agent in session.agents() for path in (agent.path, agent.path.with_suffix(".meta.json")))
    yield from (path for path in beside if os.path.lexists(path))
    if not has_copy:
        yield from tree.todos(session.id)
        for folder in ("tasks", "file-history"):
            yield from _files_below(tree.root / folder / session.id)


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        yield from (Path(parent, name) for name in sorted(names))
        yield from (path for name in folders if (path := Path(parent, name)).is_symlink())


def _problem(
    archive: Archive | None,
    session: SessionFile,
    files: tuple[tuple[Path, ArchivedFile | None], ...],
    running: set[str],
) -> str:
    if session.id.lower() in running:
        return "it is in use (see: clew ps)"
    if not session.is_empty and datetime.now(UTC) - last_used(session) < RECENT:
        return "it was used less than 5 minutes ago"
    for path, archived in files:
        name = "its transcript" if path == session.path else path.name
        if archived is None and (path.is_symlink() or path.stat().st_size):
            return f"{name} is not in the archive"
        if archived and (archive is None or not is_archived_exactly(archive, path, archived)):
            return f"{name} differs from the archive"
    return ""


def is_archived_exactly(archive: Archive, path: Path, archived: ArchivedFile) -> bool:
    """Compare a file with its copy in the archive, byte for byte."""
    if path.is_symlink():
        return False
    try:
        with path.open("rb") as file:
            return all(file.read(len(part)) == part for part in archive.parts(archived)) and not file.read(1)
    except (OSError, StoreError):  # unreadable, or a line that was too long for the archive
        return False


def describe_files(deletions: Iterable[Deletion]) -> dict[str, dict[str, int]]:
    """Describe every file for the undo journal: its generation in the archive, its time and its mode."""
    described: dict[str, dict[str, int]] = {}
    for path, archived in (pair for deletion in deletions for pair in deletion.files):
        stat = path.lstat()
        described[str(path)] = {
            "generation": archived.generation if archived else 0,
            "mtime": stat.st_mtime_ns,
            "mode": stat.st_mode & 0o777,
        }
    return described


def delete_session(archive: Archive | None, deletion: Deletion) -> None:
    """Delete the files of a session, the transcript last. Raises Refused for a file that changed meanwhile."""
    for path, archived in deletion.files:
        aside = path.with_name(f".{path.name}.{os.urandom(6).hex()}{_ASIDE}")
        try:
            path.rename(aside)
        except FileNotFoundError:
            continue
        is_held = is_archived_exactly(archive, aside, archived) if archive and archived else not aside.lstat().st_size
        if not is_held:
            _put_back(aside, path)
            raise Refused([f"{path.name} changed while it was being deleted"], hint="Archive it with: clew collect")
        aside.unlink()
    _remove_empty_folders(deletion)


def _put_back(aside: Path, path: Path) -> None:
    """Give a file its name again. Raises FileExistsError if there is a new one."""
    try:
        os.link(aside, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise
        aside.rename(path)
    aside.unlink(missing_ok=True)


def _remove_empty_folders(deletion: Deletion) -> None:
    session = deletion.session
    kept = {session.project_folder.parent, *session.project_folder.parent.parents}
    folders = {parent for path, _ in deletion.files for parent in path.parents if parent not in kept}
    for folder in sorted(folders, key=lambda folder: -len(folder.parts)):
        is_of_session = session.id in folder.parts or folder == session.project_folder
        if is_of_session and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


# -- bringing files back


def undelete(archive: Archive | None, files: Mapping[str, Mapping[str, Any]], *, dry_run: bool = False) -> list[Path]:
    """Bring deleted files back with their bytes, times and modes; a file that exists again is left alone.

    Return the files that were missing. Raises NotFound, before anything is written, if the archive lacks one of them.
    """
    missing = [Path(path) for path in files if not os.path.lexists(path)]
    sources = {path: _source(archive, path, files[str(path)]) for path in missing}
    if dry_run:
        return missing
    for path in map(Path, files):
        _remove_leftovers(path)
    for path in missing:
        source, facts = sources[path], files[str(path)]
        if isinstance(source, Path):
            _put_back(source, path)
        else:
            parts = archive.parts(source) if archive and source else ()
            create_exactly(path, parts, mtime_ns=facts["mtime"], mode=facts["mode"])
    return missing


def _remove_leftovers(path: Path) -> None:
    """Remove what an interrupted undo left: a second name of the file, or a draft."""
    for aside in _set_aside(path):
        if path.exists() and path.samefile(aside):
            aside.unlink()
    for draft in find_leftover_drafts(path):
        draft.unlink()


def _set_aside(path: Path) -> list[Path]:
    """Return what an interrupted deletion left of a file under another name."""
    siblings = path.parent.iterdir() if path.parent.is_dir() else ()
    return sorted(p for p in siblings if p.name.startswith(f".{path.name}.") and p.name.endswith(_ASIDE))


def _source(archive: Archive | None, path: Path, facts: Mapping[str, Any]) -> ArchivedFile | Path | None:
    """Return the file that was set aside by an interrupted deletion, else its generation; None for an empty file."""
    if aside := _set_aside(path):
        return aside[0]
    if not facts["generation"]:
        return None
    found = archive.generation(facts["generation"]) if archive else None
    if found is None:
        raise NotFound(path.name, "file in the archive", hint="The archive was changed or removed since the deletion.")
    return found
