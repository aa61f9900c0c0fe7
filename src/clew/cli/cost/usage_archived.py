"""What the archive keeps of transcripts that are gone from the tree or were written anew: usage never shrinks by that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from clew.collect.archive.reader import Archive
from clew.collect.archive.reader import ArchivedFile as Archived
from clew.report.collect_buckets import ArchivedTranscript
from clew.wire.tree_walk import TranscriptFile

KINDS = ("session", "agent")


def kept(root: str) -> list[ArchivedTranscript]:
    """Every generation of a transcript but the one that is still in the tree."""
    with Archive.open() as archive:
        found = [each for each in _generations(archive, os.path.realpath(root)) if each.size]
    return [ArchivedTranscript(_found(each), partial(_read, each)) for each in found]


def _generations(archive: Archive, root: str) -> Iterator[Archived]:
    for file in archive.files(root=root):
        if file.kind not in KINDS:
            continue
        if not os.path.lexists(os.path.join(root, file.path)):
            yield file
        if file.number > 1 or file.reason:
            yield from (each for each in archive.generations(file) if each.generation != file.generation)


def _found(file: Archived) -> TranscriptFile:
    name = f"archive:{file.generation}:{file.path}"
    return TranscriptFile(name, file.project, file.session, file.agent, file.size, file.mtime, file.generation)


def _read(file: Archived) -> bytes:
    with Archive.open() as archive:
        return archive.read(file)
