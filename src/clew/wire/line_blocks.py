"""Read the complete lines of a file in large blocks, each byte once, together with the fingerprint of what was read."""

from __future__ import annotations

from collections.abc import Iterator

from stringzilla import hash as hash_bytes

from clew.wire.growth import BLOCK, PrefixChecksum, Readable, ReadState, fingerprint, hash_prefix
from clew.wire.line import MAX_LINE

_SHIFT = (
    48  # Large memory begins 16 bytes after a page. Several AMD processors take twice as long to read a file to there.
)


def new_buffer() -> bytearray:
    """Return a buffer for a block and the beginning of a line before it; to make one takes as long as to read a file."""
    buffer = bytearray(2 * BLOCK + _SHIFT)
    del buffer[:_SHIFT]  # moves the beginning, copies nothing
    return buffer


class LineBlocks:
    """The complete lines of a file, many at a time, read in one pass together with their checksum.

    `before` is the state at the last reading: if the file has only grown since, the lines begin there (`is_continued`),
    else at byte 0. After the iteration, `offset` is the end of the last complete line, `mark` the fingerprint of what is
    before it, and `tail` an unterminated line. Lines over MAX_LINE are left out.

    `buffer` is what the lines are read into, for those who read many files one after the other.
    """

    def __init__(
        self,
        file: Readable,
        before: ReadState | None = None,
        inode: int = 0,
        size: int = 0,
        buffer: bytearray | None = None,
    ) -> None:
        self._file = file
        self._buffer = new_buffer() if buffer is None else buffer
        self.offset = 0
        self.is_continued = False
        self.tail = b""
        self._of_blocks = 0  # the checksum of the whole blocks that were read
        self._blocks_end = 0
        self._value: int | None = None  # the checksum of what is before `offset`; None if that is before the last block
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
        buffer = self._buffer
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
                self._end_checksum(buffer, held)
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
            if size == BLOCK:
                self._of_blocks = hash_bytes(block, self._of_blocks)
                self._blocks_end += BLOCK
        return size

    def _end_checksum(self, buffer: bytearray, place: int) -> None:
        """Add what is before `offset` in the last block, which is not whole and begins at a place in the buffer."""
        in_last = self.offset - self._blocks_end
        if in_last > 0:
            with memoryview(buffer) as view, view[place : place + in_last] as lines:
                self._value = hash_bytes(lines, self._of_blocks)
        elif in_last == 0:
            self._value = self._of_blocks

    @property
    def mark(self) -> bytes:
        """The fingerprint of the bytes before `offset`."""
        if self._value is None:  # an unterminated line is longer than the last block
            return fingerprint(self._file, self.offset)
        return PrefixChecksum(self._value, self._of_blocks).mark
