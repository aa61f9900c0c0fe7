"""Upgrade an archive of an earlier version: ordered steps in one transaction, after a copy of the file was made.

A process that is killed leaves the old version, or the new one; the next one upgrades again. Readers do not upgrade:
they see an archive of an earlier version through temporary views.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import apsw

from clew.collect.archive.checksums import generation_sum, line_sum
from clew.errors import StoreError
from clew.system.sqlite_file import WriteTransaction, run_pragmas

VERSION = 3
APPLICATION = int.from_bytes(b"clew")

_TO_VERSION_2 = """
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
UPDATE generation SET sum = generation_sum(id, file, number, offset, lines, rest);
UPDATE occurrence SET sum = line_sum(
  generation, offset, number, length, (SELECT hash FROM content c WHERE c.id = occurrence.content));
"""
_TO_VERSION_3 = """
ALTER TABLE content ADD COLUMN pack INTEGER;
ALTER TABLE content ADD COLUMN start INTEGER NOT NULL DEFAULT 0;
CREATE TABLE pack(id INTEGER PRIMARY KEY, size INTEGER NOT NULL, packing INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
"""
_VERSION_1_VIEWS = """
PRAGMA temp_store = MEMORY;
CREATE TEMP VIEW generation AS SELECT *, NULL AS sum FROM main.generation;
CREATE TEMP VIEW occurrence AS SELECT *, NULL AS sum FROM main.occurrence;
CREATE TEMP VIEW erased AS SELECT '' AS kind, '' AS value, 0 AS time WHERE 0;
"""
_VERSION_2_VIEWS = """
PRAGMA temp_store = MEMORY;
CREATE TEMP VIEW content AS SELECT *, NULL AS pack, 0 AS start FROM main.content;
CREATE TEMP VIEW pack AS SELECT 0 AS id, 0 AS size, 0 AS packing, x'' AS data WHERE 0;
"""


def register_functions(connection: apsw.Connection) -> None:
    """Make the checksums available in SQL."""
    functions: dict[str, tuple[Callable[..., int], int]] = {
        "generation_sum": (generation_sum, 6),
        "line_sum": (line_sum, 5),
    }
    for name, (function, arguments) in functions.items():
        connection.create_scalar_function(name, function, arguments, deterministic=True)


def _add_checksums(connection: apsw.Connection) -> None:
    connection.execute(_TO_VERSION_2)


def _add_packs(connection: apsw.Connection) -> None:
    connection.execute(_TO_VERSION_3)


_STEPS: Mapping[int, Callable[[apsw.Connection], None]] = {  # by the version that they start from
    1: _add_checksums,
    2: _add_packs,
}


def read_version(connection: apsw.Connection) -> int:
    """Return the version of an archive; 0 if it is not one. Raises StoreError for one of a newer clew."""
    if connection.pragma("application_id") != APPLICATION:
        return 0
    version = int(connection.pragma("user_version"))
    if version > VERSION:
        raise StoreError(
            f"The archive has version {version}, which is newer than the newest that this program reads: {VERSION}.",
            "version",
            False,
            hint="Update clew; the archive was not changed.",
        )
    return version


def upgrade(connection: apsw.Connection, path: str, vfs: str | None = None) -> None:
    """Upgrade to the current version. The file before it is kept as `<path>.version-<n>`."""
    version = read_version(connection)
    copy_archive(connection, f"{path}.version-{version}", vfs)
    with WriteTransaction(connection):
        for step in range(read_version(connection), VERSION):  # another process may have done it meanwhile
            _STEPS[step](connection)
        connection.pragma("user_version", VERSION)


def copy_archive(connection: apsw.Connection, path: str, vfs: str | None = None) -> None:
    """Copy an open archive to a new file, consistently and readable by its owner only; replace what is there.

    The copy appears under its name when it is complete and on the disk.
    """
    temporary = Path(f"{path}.half")
    temporary.unlink(missing_ok=True)
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        copy = apsw.Connection(str(temporary), vfs=vfs)
        try:
            with copy.backup("main", connection, "main") as backup:
                while not backup.done:
                    backup.step(1000)
            copy.pragma("journal_mode", "DELETE")
        finally:
            copy.close()
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def add_version_views(connection: apsw.Connection, version: int) -> None:
    """Let a reader see an archive of an earlier version as one of the current version."""
    if version < 2:
        run_pragmas(connection, _VERSION_1_VIEWS)
    if version < 3:
        run_pragmas(connection, _VERSION_2_VIEWS)
