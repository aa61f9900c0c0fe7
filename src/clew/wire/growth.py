"""Recognise a file that has only grown since it was read, so that only its new lines are read.

A path proves nothing: a file may have been rewritten in place, or replaced by another one. The caches of the index, of
the vectors and of the replies keep a `ReadState` of each file, with a checksum of every byte that was read. `Tail`
compares the bytes themselves, which it still has; the collector keeps keyed hashes of everything, because its archive
must not be wrong (`collect.fingerprint`).

The checksum is a chain over blocks of the file, each hashed with the checksum of those before it. `LineBlocks`
(`wire.line_blocks`) computes it while it reads the lines, so that no byte is read twice.
"""

from __future__ import annotations

from io import BufferedReader, BytesIO, FileIO
from typing import BinaryIO, NamedTuple

from stringzilla import hash as hash_bytes

BLOCK = 1 << 18  # bytes that are read and hashed at once: they stay in the CPU cache
_SIZE = 8  # bytes of a hash

Readable = FileIO | BufferedReader | BytesIO


class ReadState(NamedTuple):
    """The inode of a file, how many bytes of it were read, and their fingerprint."""

    inode: int
    offset: int
    mark: bytes


class PrefixChecksum(NamedTuple):
    """A checksum of the bytes before an offset, and that of the whole blocks among them, from which it continues."""

    value: int
    of_blocks: int

    @property
    def mark(self) -> bytes:
        return self.value.to_bytes(_SIZE, "big") + self.of_blocks.to_bytes(_SIZE, "big")


def hash_prefix(file: BinaryIO | Readable, offset: int, start: int = 0, of_blocks: int = 0) -> PrefixChecksum:
    """Hash the bytes before an offset; `of_blocks` is the checksum of the whole blocks before `start`, if known."""
    start -= start % BLOCK
    file.seek(start)
    value = of_blocks
    left = offset - start
    while left and (block := _read_fully(file, min(BLOCK, left))):
        value = hash_bytes(block, value)
        if len(block) == BLOCK:
            of_blocks = value
        left -= len(block)
    return PrefixChecksum(value, of_blocks)


def _read_fully(file: BinaryIO | Readable, size: int) -> bytes:
    """Read this many bytes; fewer only at the end of the file, also if the file is not buffered."""
    data = file.read(size) or b""
    while 0 < len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def fingerprint(file: BinaryIO | Readable, offset: int, start: int = 0, mark: bytes = b"") -> bytes:
    """Return a checksum of the bytes before an offset. It takes about a quarter of a second for a GB.

    `mark` is that of the bytes before `start`, if it is known: then only the bytes from its last block on are read.
    """
    of_blocks = int.from_bytes(mark[_SIZE:], "big")
    return hash_prefix(file, offset, start if mark else 0, of_blocks).mark


def has_only_grown(file: BinaryIO, before: ReadState, inode: int, size: int) -> bool:
    """Return whether a file is the one that was read before, with unchanged bytes up to that offset."""
    return before.inode == inode and size >= before.offset and fingerprint(file, before.offset) == before.mark
