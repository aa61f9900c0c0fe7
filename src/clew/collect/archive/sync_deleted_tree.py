"""Bring the deleted tree up to date with the archive."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import crc32

from clew.collect.archive.deleted_tree import MANIFEST, VERSION, deleted_tree_path, read_manifest
from clew.collect.archive.reader import Archive, ArchivedFile
from clew.collect.archive.reconstruct import ReconstructedSession, reconstruct_sessions
from clew.wire.json_codec import encode
from clew.wire.layout import SessionFile, Tree
from clew.wire.session_writer import create_exactly, replace


def sync_deleted_tree(
    archive: Archive, root: str, location: str | None = None, damaged: list[str] | None = None
) -> int:
    """Write files of deleted sessions and remove those that exist again. Returns the number of files written.

    Lines that are damaged in the archive are left out; the paths of their files are added to `damaged`.
    `location` is the path of the archive, if it is not the default one. A session counts as deleted if its file is
    missing now and it was not moved to another project, and is reconstructed only if there is no transcript of it,
    neither in the archive nor on the disk.
    """
    folder = deleted_tree_path(root, location)
    manifest = read_manifest(folder)
    if not manifest and folder.is_dir():
        shutil.rmtree(folder)  # written by another version
    before = manifest.get("files", {})
    real = os.path.realpath(root)
    present: list[str] = []
    gone: list[ArchivedFile] = []
    for session in archive.sessions(root=real):  # the facts of those that exist, which are many, are not kept
        if os.path.lexists(os.path.join(real, session.path)):
            present.append(session.path)
        else:
            gone.append(session)
    session_files = (file for project in Tree(Path(real)).projects() for file in project.sessions() if file.size)
    gone_ids = {session.session.lower() for session in gone}
    on_disk: dict[str, SessionFile | None] = {}  # with the files of those that were moved; there are many others
    for file in session_files:
        id = file.id.lower()
        on_disk[id] = file if id in gone_ids else None
    sessions = list({s.session: s for s in sorted(gone, key=_time) if s.session.lower() not in on_disk}.values())
    reconstructed = [s for s in reconstruct_sessions(archive, real) if s.session.lower() not in on_disk]
    expected = dict(_expected_files(archive, sessions, reconstructed))
    stale = [path for path, name in before.items() if expected.get(path, (None, None))[1] != name]
    for path in stale:
        (folder / path).unlink(missing_ok=True)
    written = 0
    for path, (source, name) in expected.items():
        if not os.path.lexists(folder / path):
            lost: list[int] = []
            parts, mtime = (archive.parts(source, lost), source.mtime) if isinstance(source, ArchivedFile) else source
            create_exactly(folder / path, parts, mtime_ns=mtime)
            written += 1
            if lost:  # write it again next time, in case that it was repaired
                expected[path] = (source, f"{name}:damaged")
                (damaged if damaged is not None else []).append(path)
    if before or expected or present or gone:
        moved = (on_disk.get(session.session.lower()) for session in gone)
        present += [file.path.relative_to(real).as_posix() for file in moved if file]
        files = {path: name for path, (_, name) in expected.items()}
        _save_manifest(folder, sessions, reconstructed, files, present)
    return written


def _time(file: ArchivedFile) -> int:
    return file.mtime


Source = ArchivedFile | tuple[Iterable[bytes], int]


def _expected_files(
    archive: Archive, sessions: list[ArchivedFile], reconstructed: list[ReconstructedSession]
) -> Iterator[tuple[str, tuple[Source, str]]]:
    """Yield each file of the deleted tree by its path, with its source and a name for its state."""
    for session in sessions:
        for file in (session, *archive.belongings(session)):
            yield file.path, (file, f"{file.generation}:{file.size}")
    for session_file in reconstructed:
        yield (
            session_file.path,
            (((session_file.data,), session_file.mtime), f"{crc32(session_file.data):08x}:{len(session_file.data)}"),
        )
        for file in session_file.belongings:
            yield _side_file_path(session_file, file), (file, f"{file.generation}:{file.size}")


def _side_file_path(session: ReconstructedSession, file: ArchivedFile) -> str:
    """Return the path of a side file in the project folder of its reconstructed session."""
    old_prefix = f"projects/{file.project}/"
    return f"{Path(session.path).parent.as_posix()}/{file.path.removeprefix(old_prefix)}" if file.project else file.path


def _save_manifest(
    folder: Path,
    sessions: list[ArchivedFile],
    reconstructed: list[ReconstructedSession],
    files: dict[str, str],
    present: list[str],
) -> None:
    value = {
        "version": VERSION,
        "archived": [session.session for session in sessions],
        "reconstructed": [rebuilt_session.session for rebuilt_session in reconstructed],
        "files": files,
        "present": present,
        "missing": [session.path for session in sessions],
    }
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace(folder / MANIFEST, encode(value))
