"""Repair damaged contents of the archive from the file that they were read from, while it still exists."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import apsw

from clew.collect.archive.archive_writer import ArchiveWriter
from clew.collect.archive.checksums import line_sum
from clew.collect.archive.content_reader import CONTENT, ContentReader
from clew.collect.safe_open import File, read_at

_LINES = f"""
SELECT o.generation, o.offset, o.number, o.length, o.sum, {CONTENT}
FROM occurrence o LEFT JOIN content c ON c.id = o.content WHERE o.generation = ? ORDER BY o.offset
"""


def repair_indexes(connection: apsw.Connection) -> None:
    """Build the indexes again if SQLite finds damage. Raises CorruptError if tables are damaged too."""
    if connection.execute("PRAGMA integrity_check(1)").get != "ok":
        connection.execute("REINDEX")


def repair_generation(writer: ArchiveWriter, generation: int, file: File, end: bytes) -> bool:
    """Replace the damaged contents of a generation whose bytes are known to be those of the file.

    Return False if a row is damaged or missing, so that all lines must be read again.
    """
    position = 0
    damaged: list[Sequence[Any]] = []
    reader = ContentReader(writer.connection)
    row: Any
    for row in writer.connection.execute(_LINES, (generation,)):
        if row[1] != position:
            return False
        position += row[3]
        if not reader.read_line(row[:5], row[5:])[1]:
            damaged.append(row)
    end_of_lines = writer.connection.execute("SELECT offset FROM generation WHERE id = ?", (generation,)).get
    return end_of_lines == position and all(_repair_content(writer, row, file, end) for row in damaged)


def _repair_content(writer: ArchiveWriter, row: Sequence[Any], file: File, end: bytes) -> bool:
    generation, offset, number, length, sum = row[:5]
    if length > writer.limits.max_stored:
        return False
    raw = read_at(file, length - len(end), offset)
    masked = writer.policy.mask_line(raw) if end else writer.policy.mask_document(raw)
    hash = sha256(masked.data).digest()
    if line_sum(generation, offset, number, length, hash) != sum:
        return False
    writer.repair_line(generation, offset, hash, masked)
    return True
