"""List the files that a poll would read, without writing anything."""

from __future__ import annotations

import os
from collections.abc import Mapping

from clew.collect.archive.archive_schema import open_read_only
from clew.collect.archive.archive_writer import SETTLED
from clew.collect.archive.known_files import KnownFile, known_files
from clew.collect.discovery import SourceFile, SourceFiles, in_reading_order, scan
from clew.collect.job import CollectJob


def changed_files(job: CollectJob) -> list[SourceFile]:
    """Return the new or changed files, in the order in which a poll would read them."""
    root = os.path.realpath(job.root)
    known = _read_known_files(job.archive, root)
    sources = scan(root, extras=job.extras).sources
    changed = (file for file in sources if file.state.size and _is_changed(file, known.get(file.path)))
    return list(in_reading_order(SourceFiles(changed), 0))


def _read_known_files(archive: str, root: str) -> Mapping[str, KnownFile]:
    if not os.path.exists(archive):
        return {}
    connection = open_read_only(archive)
    try:
        number = connection.execute("SELECT id FROM root WHERE path = ?", (root,)).get
        return known_files(connection, int(number)) if number is not None else {}
    finally:
        connection.close()


def _is_changed(source: SourceFile, known: KnownFile | None) -> bool:
    return known is None or known.state != source.state or known.trust != SETTLED or known.gone is not None
