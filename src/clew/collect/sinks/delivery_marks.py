"""Marks of what a sink was sent, and the names under which an archive sends.

The mark of a record is a hash over it and the mark before: equal marks mean equal histories. An archive sends under the
name of its current *epoch*, the column `host` of every row. It takes a new name when it can no longer know that the
records under the old one are its own: after a backup was put back, or when a copy of it sends to the same store.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from hashlib import blake2b
from struct import pack

import apsw

from clew.collect.sinks.record import Record
from clew.system.sqlite_file import WriteTransaction

_POSITIVE = (1 << 63) - 1  # marks are positive, because transactions of a lake have such numbers


def extend_mark(mark: int, file: int, generation: int, offset: int, hash: bytes) -> int:
    """Return the mark after a record; never 0, which is the mark of nothing."""
    digest = blake2b(pack(">4q", mark, file, generation, offset) + hash, digest_size=8).digest()
    return int.from_bytes(digest) & _POSITIVE or 1


def mark_records(batch: Sequence[Record], mark: int) -> tuple[list[Record], int]:
    """Return the records with their marks, and the last mark."""
    marked = []
    for record in batch:
        mark = extend_mark(mark, record.file, record.generation, record.offset, bytes.fromhex(record.hash))
        marked.append(record._replace(mark=mark))
    return marked, mark


def current_host(connection: apsw.Connection) -> str:
    """Return the name under which an archive sends."""
    return str(connection.execute("SELECT value FROM about WHERE name = 'host'").get)


def begin_epoch(connection: apsw.Connection, reason: str) -> str:
    """Give an archive a new name, and note which one it had. Returns the new name."""
    host, parent = os.urandom(16).hex(), current_host(connection)
    with WriteTransaction(connection):
        connection.execute("INSERT INTO epoch VALUES(?, ?, ?, ?)", (host, parent, time.time_ns(), reason))
        connection.execute("UPDATE about SET value = ? WHERE name = 'host'", (host,))
    return host
