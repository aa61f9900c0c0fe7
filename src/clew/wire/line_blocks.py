"""Read the complete lines of a file in large blocks, each byte once, together with the fingerprint of what was read."""

from __future__ import annotations

from collections.abc import Iterator

from stringzilla import hash as hash_bytes

from clew.wire.growth import BLOCK, PrefixChecksum, Readable, ReadState, fingerprint, hash_prefix
from clew.wire.line import MAX_LINE


class LineBlocks:
    """The complete lines of a file, many at a time, read in one pass together with their checksum.

    `before` is the state at the last reading: if the file has only grown since, the lines begin there (`is_continued`),
    else at byte 0. After the iteration, `offset` is the end of the last complete line, `mark` the fingerprint of what is
    before it, and `tail` an unterminated line. Lines over MAX_LINE are left out.
    """

    def __init__(self, file: Readable, before: ReadState | None = None, inode: int = 0, size: int = 0) -> None:
        self._file = file
        self.offset = 0
        self.is_continued = False
        self.tail = b""
        self._of_blocks = 0  # the checksum of the whole blocks that were read
        self._blocks_end = 0
        self._last = b""  # the block at the end, which is not whole
        if before and before.offset and before.inode == inode and size >= before.offset:
            prefix = hash_prefix(file, before.offset)
            if prefix.mark == before.mark:
                self.is_continued = True
                self.offset, self._of_blocks = before.offset, prefix.of_blocks

    def __iter__(self) -> Iterator[tuple[bytearray, int, int]]:
        """Yield (buffer, start, stop): complete lines between two positions of a buffer, which the next step changes."""
        start = self.offset % BLOCK
        at = self._blocks_end = self.offset - start  # the offset of the buffer in the file
        self._file.seek(at)
        buffer = bytearray(2 * BLOCK)
        held, is_too_long = 0, False
        while True:
            size = self._read_block(buffer, held)
            stop = buffer.rfind(b"\n", held, held + size) + 1
            if is_too_long and stop:
                start, is_too_long = buffer.find(b"\n") + 1, False
            if stop:
                self.offset = at + stop
            if stop > start:
                yield buffer, start, stop
            rest = buffer[stop : held + size]
            at += stop
            if is_too_long or len(rest) > MAX_LINE:
                is_too_long = True
                at += len(rest)
                rest = bytearray()
            if size < BLOCK:
                self.tail = bytes(rest)
                return
            held, start = len(rest), 0
            if len(buffer) < held + BLOCK:
                buffer = rest + bytes(held + BLOCK)
            else:
                buffer[:held] = rest

    def _read_block(self, buffer: bytearray, place: int) -> int:
        """Read the next block of the file to a place in a buffer, and add it to the checksum. Return its size."""
        size = 0
        with memoryview(buffer) as view, view[place : place + BLOCK] as block:
            while size < BLOCK and (count := self._file.readinto(block[size:])):
                size += count
            if size < BLOCK:
                self._last = bytes(block[:size])
            else:
                self._of_blocks = hash_bytes(block, self._of_blocks)
                self._blocks_end += BLOCK
        return size

    @property
    def mark(self) -> bytes:
        """The fingerprint of the bytes before `offset`."""
        in_last = self.offset - self._blocks_end
        if in_last < 0:  # an unterminated line is longer than the last block
            return fingerprint(self._file, self.offset)
        value = hash_bytes(self._last[:in_last], self._of_blocks) if in_last else self._of_blocks
        return PrefixChecksum(value, self._of_blocks).mark
