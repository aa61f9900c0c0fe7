"""Restore files from the archive byte for byte, never over an existing file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clew.collect.archive.reader import Archive, ArchivedFile
from clew.errors import StoreError
from clew.wire.session_writer import create_exactly, find_leftover_drafts

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


class Restored(NamedTuple):
    """What became of a step: `problem` says why the file was not written, `left_out` how many lines are missing."""

    step: RestoreStep
    problem: str = ""
    left_out: int = 0


def restore(archive: Archive, steps: list[RestoreStep], *, skip_damaged: bool = False) -> Iterator[Restored]:
    """Write the files that do not exist yet, the session last: if it exists, so do its side files.

    The files are new: Claude Code deletes those whose modification time is old. A file with a damaged line is not
    written, unless `skip_damaged` leaves such lines out. What a killed restore left is removed.
    """
    for step in reversed(steps):
        for draft in find_leftover_drafts(step.target):
            draft.unlink(missing_ok=True)
        if step.is_taken:
            continue
        damage: list[int] = []
        try:
            create_exactly(step.target, archive.parts(step.file, damage if skip_damaged else None))
        except StoreError as error:
            yield Restored(step, str(error))
        else:
            yield Restored(step, left_out=len(damage))
