"""Restoring: files out of the archive, exactly as they were, and never over a file that is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clew.collect.archive.reader import Archive, ArchivedFile
from clew.wire.session_writer import create_exactly

_APART = ("history", "index", "stats")  # not one session's


class RestoreStep(NamedTuple):
    """A file to write, and whether something stands there already."""

    file: ArchivedFile
    target: Path
    is_taken: bool


def plan(archive: Archive, session: ArchivedFile, to: Path | None, *, generations: bool = False) -> list[RestoreStep]:
    """What restoring a session would write: it and its belongings, where they were or below another folder.

    With `generations` the older states of the session come too, as `<id>.generation-<n>.jsonl`.
    """
    base = to if to is not None else Path(session.root)
    files = [(session, session.path), *((file, file.path) for file in archive.belongings(session))]
    if generations:
        older = [old for old in archive.generations(session) if old.generation != session.generation]
        files += [(old, f"{old.path.removesuffix('.jsonl')}.generation-{old.number}.jsonl") for old in older]
    return [
        RestoreStep(file, target, os.path.lexists(target))
        for file, path in files
        if file.kind not in _APART and (target := base / path)
    ]


def restore(archive: Archive, steps: list[RestoreStep], *, keep_times: bool) -> Iterator[Path]:
    """Write what is not there, the session last: once it is there, so is what belongs to it.

    Old times are kept only away from the folder of Claude Code, which would delete an old session at its next start.
    """
    for step in reversed(steps):
        if not step.is_taken:
            yield create_exactly(
                step.target, archive.parts(step.file), mtime_ns=step.file.mtime if keep_times else None
            )
