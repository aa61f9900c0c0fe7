"""Recognise a file that has only grown since it was read, so that only its new lines are read.

A path proves nothing: a file may have been rewritten in place, or replaced by another one. The caches of the index, of
the vectors and of the replies keep a `ReadState` of each file. `Tail` compares the bytes themselves, which it still
has; the collector keeps keyed hashes of everything, because its archive must not be wrong (`collect.fingerprint`).
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO, NamedTuple

SAMPLE_BYTES = 1024  # bytes hashed at the start of a file and before the offset


class ReadState(NamedTuple):
    """The inode of a file, how many bytes of it were read, and their fingerprint."""

    inode: int
    offset: int
    mark: bytes


def fingerprint(file: BinaryIO, offset: int) -> bytes:
    """Return a hash of the bytes at the start of a file and of those before an offset."""
    size = min(SAMPLE_BYTES, offset)
    file.seek(0)
    head = file.read(size)
    file.seek(offset - size)
    return hashlib.blake2b(head + file.read(size), digest_size=8).digest()


def has_only_grown(file: BinaryIO, before: ReadState, inode: int, size: int) -> bool:
    """Return whether a file is the one that was read before, with unchanged bytes up to that offset."""
    return before.inode == inode and size >= before.offset and fingerprint(file, before.offset) == before.mark
