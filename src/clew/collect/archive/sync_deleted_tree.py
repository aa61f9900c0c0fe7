"""Furnishing the attic: what is gone from the disk comes out of the archive, and what came back is taken out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import crc32

from clew.collect.archive.deleted_tree import LIST, VERSION, attic_of, listed
from clew.collect.archive.reader import Archive, ArchivedFile
from clew.collect.archive.reconstruct import Rebuilt, rebuilt
from clew.wire.json_codec import encode
from clew.wire.session_writer import create_exactly, replace


def furnish(archive: Archive, root: str) -> int:
    """Bring the attic up to date with the archive; the number of files written. Files that came back are taken out."""
    folder = attic_of(root)
    before = listed(folder).get("files", {})
    sessions = [s for s in archive.sessions(root=os.path.realpath(root)) if s.is_gone]
    remains = list(rebuilt(archive, os.path.realpath(root)))
    wanted = dict(_wanted(archive, sessions, remains))
    stale = [path for path, name in before.items() if wanted.get(path, (None, None))[1] != name]
    for path in stale:
        (folder / path).unlink(missing_ok=True)
    written = 0
    for path, (source, _) in wanted.items():
        if not os.path.lexists(folder / path):
            parts, mtime = (archive.parts(source), source.mtime) if isinstance(source, ArchivedFile) else source
            create_exactly(folder / path, parts, mtime_ns=mtime)
            written += 1
    if before or wanted:
        _save(folder, sessions, remains, {path: name for path, (_, name) in wanted.items()})
    return written


Source = ArchivedFile | tuple[Iterable[bytes], int]


def _wanted(
    archive: Archive, sessions: list[ArchivedFile], remains: list[Rebuilt]
) -> Iterator[tuple[str, tuple[Source, str]]]:
    """Each file that belongs into the attic, by its path there, with a name for its state."""
    for session in sessions:
        for file in (session, *archive.belongings(session)):
            yield file.path, (file, f"{file.generation}:{file.size}")
    for each in remains:
        yield each.path, (((each.data,), each.mtime), f"{crc32(each.data):08x}:{len(each.data)}")
        for file in each.belongings:
            yield _beside(each, file), (file, f"{file.generation}:{file.size}")


def _beside(session: Rebuilt, file: ArchivedFile) -> str:
    """A file of a reconstructed session, in the project in which that is now."""
    own = f"projects/{file.project}/"
    return f"{Path(session.path).parent.as_posix()}/{file.path.removeprefix(own)}" if file.project else file.path


def _save(folder: Path, sessions: list[ArchivedFile], remains: list[Rebuilt], files: dict[str, str]) -> None:
    value = {
        "version": VERSION,
        "archived": [session.session for session in sessions],
        "reconstructed": [each.session for each in remains],
        "files": files,
    }
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace(folder / LIST, encode(value))
