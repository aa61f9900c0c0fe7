"""Copy an archive to one file, with its key, and put such a copy back.

An archive that was put back sends under a new name from then on: stores may have records that it no longer knows.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import apsw

from clew.collect.archive.archive_schema import open_archive, open_read_only
from clew.collect.archive.archive_upgrade import copy_archive
from clew.collect.archive.verify_contents import VerifyReport, verify_archive
from clew.collect.sinks.delivery_marks import begin_epoch
from clew.wire.session_writer import create_exactly

_PARTS = ("", "-wal", "-shm")  # the files of a SQLite database


def back_up(archive: str, key: str, target: str) -> VerifyReport:
    """Copy an archive while others use it, verify the copy, and return the result. Raises FileExistsError."""
    if os.path.lexists(target):
        raise FileExistsError(17, "The file exists", target)
    source = open_read_only(archive)
    try:
        copy_archive(source, target)
    finally:
        source.close()
    copy = apsw.Connection(target)
    try:
        if os.path.exists(key):
            value = Path(key).read_bytes().hex()
            copy.execute("INSERT INTO about VALUES('key', ?) ON CONFLICT(name) DO UPDATE SET value = ?1", (value,))
        return verify_archive(copy)
    finally:
        copy.close()


def put_back(backup: str, archive: str, key: str) -> str:
    """Replace an archive by a backup. Returns where the old one is now; empty if there was none."""
    Path(archive).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = f"{archive}.new"
    for part in _PARTS:
        Path(f"{new}{part}").unlink(missing_ok=True)
    source = open_read_only(backup)
    try:
        copy_archive(source, new)
    finally:
        source.close()
    connection = open_archive(new)
    try:
        begin_epoch(connection, "it was put back from a backup")
        value = connection.execute("SELECT value FROM about WHERE name = 'key'").get
        connection.execute("DELETE FROM about WHERE name = 'key'")
    finally:
        connection.close()
    aside = _set_aside(archive, key)
    if value:
        create_exactly(key, (bytes.fromhex(str(value)),), mode=0o600)
    Path(new).replace(archive)
    return aside


def _set_aside(archive: str, key: str) -> str:
    """Rename an archive and its key; nothing is deleted."""
    aside = next(name for number in count(1) if not os.path.lexists(name := f"{archive}.replaced-{number}"))
    is_there = os.path.lexists(archive)
    for old, new in ((key, f"{aside}.key"), *((f"{archive}{part}", f"{aside}{part}") for part in reversed(_PARTS))):
        if os.path.lexists(old):
            os.rename(old, new)  # noqa: PTH104
    return aside if is_there else ""
