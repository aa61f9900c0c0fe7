"""Bring the deleted tree up to date with the archive."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import crc32

from clew.collect.archive.deleted_tree import MANIFEST, VERSION, deleted_tree_path, read_manifest
from clew.collect.archive.reader import Archive, ArchivedFile
from clew.collect.archive.reconstruct import ReconstructedSession, reconstruct_sessions
from clew.wire.json_codec import encode
from clew.wire.session_writer import create_exactly, replace


def sync_deleted_tree(archive: Archive, root: str) -> int:
    """Write files of deleted sessions and remove those that exist again. Returns the number of files written."""
    folder = deleted_tree_path(root)
    before = read_manifest(folder).get("files", {})
    sessions = [s for s in archive.sessions(root=os.path.realpath(root)) if s.is_gone]
    reconstructed = list(reconstruct_sessions(archive, os.path.realpath(root)))
    expected = dict(_expected_files(archive, sessions, reconstructed))
    stale = [path for path, name in before.items() if expected.get(path, (None, None))[1] != name]
    for path in stale:
        (folder / path).unlink(missing_ok=True)
    written = 0
    for path, (source, _) in expected.items():
        if not os.path.lexists(folder / path):
            parts, mtime = (archive.parts(source), source.mtime) if isinstance(source, ArchivedFile) else source
            create_exactly(folder / path, parts, mtime_ns=mtime)
            written += 1
    if before or expected:
        _save_manifest(folder, sessions, reconstructed, {path: name for path, (_, name) in expected.items()})
    return written


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
    folder: Path, sessions: list[ArchivedFile], reconstructed: list[ReconstructedSession], files: dict[str, str]
) -> None:
    value = {
        "version": VERSION,
        "archived": [session.session for session in sessions],
        "reconstructed": [rebuilt_session.session for rebuilt_session in reconstructed],
        "files": files,
    }
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace(folder / MANIFEST, encode(value))
