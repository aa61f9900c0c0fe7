"""Restore files from the archive byte for byte, never over an existing file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clew.collect.archive.reader import Archive, ArchivedFile
from clew.wire.session_writer import create_exactly

_SHARED_KINDS = ("history", "index", "stats")  # these belong to many sessions


class RestoreStep(NamedTuple):
    """A file to write, and whether its path already exists."""

    file: ArchivedFile
    target: Path
    is_taken: bool


def plan_restore(
    archive: Archive, session: ArchivedFile, to: Path | None, *, generations: bool = False
) -> list[RestoreStep]:
    """Plan the restore of a session and its side files, at their original paths or below another folder.

    With `generations`, older states of the session are included as `<id>.generation-<n>.jsonl`.
    """
    base = to if to is not None else Path(session.root)
    files = [(session, session.path), *((file, file.path) for file in archive.belongings(session))]
    if generations:
        older = [old for old in archive.generations(session) if old.generation != session.generation]
        files += [(old, f"{old.path.removesuffix('.jsonl')}.generation-{old.number}.jsonl") for old in older]
    return [
        RestoreStep(file, target, os.path.lexists(target))
        for file, path in files
        if file.kind not in _SHARED_KINDS and (target := base / path)
    ]


def restore(archive: Archive, steps: list[RestoreStep]) -> Iterator[Path]:
    """Write the files that do not exist yet, the session last: if it exists, so do its side files.

    The files are new: Claude Code deletes those whose modification time is old.
    """
    for step in reversed(steps):
        if not step.is_taken:
            yield create_exactly(step.target, archive.parts(step.file))
