"""A preview: what a poll would read, with nothing written, not even an archive."""

from __future__ import annotations

import os

from clew.collect.archive.archive_schema import open_to_read
from clew.collect.archive.archive_writer import SETTLED, KnownFile, known_files
from clew.collect.discovery import SourceFile, in_order, scan
from clew.collect.job import CollectJob


def changed(job: CollectJob) -> list[SourceFile]:
    """The files that are new or changed, in the order in which they would be read."""
    root = os.path.realpath(job.root)
    known = _known(job.archive, root)
    found = scan(root, extras=job.extras).found
    return in_order((f for f in found if f.state.size and _is_changed(f, known.get(f.path))), 0)


def _known(archive: str, root: str) -> dict[str, KnownFile]:
    if not os.path.exists(archive):
        return {}
    connection = open_to_read(archive)
    try:
        number = connection.execute("SELECT id FROM root WHERE path = ?", (root,)).get
        return known_files(connection, int(number)) if number is not None else {}
    finally:
        connection.close()


def _is_changed(found: SourceFile, known: KnownFile | None) -> bool:
    return known is None or known.state != found.state or known.trust != SETTLED or known.gone is not None
