"""Transcripts that are only in the archive, deleted or rewritten in the tree, so that usage never shrinks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from clew.collect.archive.reader import Archive
from clew.collect.archive.reader import ArchivedFile as Archived
from clew.report.collect_buckets import ArchivedTranscript
from clew.system.environment import data_home
from clew.wire.tree_walk import TranscriptFile

KINDS = ("session", "agent")


def archived_transcripts(root: str) -> list[ArchivedTranscript]:
    """Return every generation of an archived transcript except the one that is still in the tree."""
    if not os.path.exists(os.path.join(data_home(), "archive", "archive.db")):
        return []
    with Archive.open() as archive:
        files = [file for file in _generations(archive, os.path.realpath(root)) if file.size]
    return [ArchivedTranscript(_describe(file), partial(_read, file)) for file in files]


def _generations(archive: Archive, root: str) -> Iterator[Archived]:
    for file in archive.files(root=root):
        if file.kind not in KINDS:
            continue
        if not os.path.lexists(os.path.join(root, file.path)):
            yield file
        if file.number > 1 or file.reason:
            yield from (old for old in archive.generations(file) if old.generation != file.generation)


def _describe(file: Archived) -> TranscriptFile:
    name = f"archive:{file.generation}:{file.path}"
    return TranscriptFile(name, file.project, file.session, file.agent, file.size, file.mtime, file.generation)


def _read(file: Archived) -> bytes:
    with Archive.open() as archive:
        return archive.read(file, [])
