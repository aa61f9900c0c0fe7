"""Recognise a file that has only grown since it was read, so that only its new lines are read.

A path proves nothing: a file may have been rewritten in place, or replaced by another one. The caches of the index, of
the vectors and of the replies keep a `ReadState` of each file, with a checksum of every byte that was read. `Tail`
compares the bytes themselves, which it still has; the collector keeps keyed hashes of everything, because its archive
must not be wrong (`collect.fingerprint`).
"""

from __future__ import annotations

from binascii import crc32
from typing import BinaryIO, NamedTuple

_CHUNK = 1 << 20


class ReadState(NamedTuple):
    """The inode of a file, how many bytes of it were read, and their fingerprint."""

    inode: int
    offset: int
    mark: bytes


def fingerprint(file: BinaryIO, offset: int, start: int = 0, mark: bytes = b"") -> bytes:
    """Return a checksum of the bytes before an offset. It takes about half a second for a GB.

    `mark` is that of the bytes before `start`, if it is known: then only the bytes after it are read.
    """
    file.seek(start)
    checksum = int.from_bytes(mark, "big")
    left = offset - start
    while left and (chunk := file.read(min(_CHUNK, left))):
        checksum = crc32(chunk, checksum)
        left -= len(chunk)
    return checksum.to_bytes(4, "big")


def has_only_grown(file: BinaryIO, before: ReadState, inode: int, size: int) -> bool:
    """Return whether a file is the one that was read before, with unchanged bytes up to that offset."""
    return before.inode == inode and size >= before.offset and fingerprint(file, before.offset) == before.mark
