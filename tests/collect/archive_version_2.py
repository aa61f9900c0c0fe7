"""Build an archive of version 2, in which every line is packed alone. This code is frozen: it does not use the package."""

from __future__ import annotations

from hashlib import blake2b
from struct import pack
from typing import Any

import apsw

from tests.collect import archive_version_1

_STEP = """
ALTER TABLE generation ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE occurrence ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sink ADD COLUMN head INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sink ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sink ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE sink ADD COLUMN store TEXT NOT NULL DEFAULT '';
CREATE TABLE sink_mark(
  sink TEXT NOT NULL, seq INTEGER NOT NULL, mark INTEGER NOT NULL, PRIMARY KEY(sink, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE epoch(host TEXT PRIMARY KEY, parent TEXT NOT NULL, began INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE TABLE erased(
  kind TEXT NOT NULL, value TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY(kind, value)) STRICT, WITHOUT ROWID;
UPDATE sink SET head = seq, host = (SELECT value FROM about WHERE name = 'host');
UPDATE generation SET sum = row_sum(rest, id, file, number, offset, lines);
UPDATE occurrence SET sum = row_sum(
  (SELECT hash FROM content c WHERE c.id = occurrence.content), generation, offset, number, length);
"""


def build(path: str, key: bytes, root: str, files: dict[str, bytes], sinks: dict[str, int] | None = None) -> None:
    """Write an archive with sessions, given by their paths below the root."""
    archive_version_1.build(path, key, root, files, sinks)
    connection = apsw.Connection(path)
    connection.create_scalar_function("row_sum", _sum)
    with connection:
        connection.execute(_STEP)
        connection.pragma("user_version", 2)
    connection.close()


def _sum(*values: Any) -> int:
    end, *numbers = values
    data = pack(f">{len(numbers)}q", *numbers) + end
    return int.from_bytes(blake2b(data, digest_size=8).digest(), signed=True)
