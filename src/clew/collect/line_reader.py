r"""Read complete lines of any length from an open file, in chunks that can be read independently of each other.

Lines end at `\n` only. Bytes after the last newline are an unfinished line, which is not ingested before it is
complete. A chunk has the lines that begin in one block of the file, so that every reader divides a file alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from typing import NamedTuple

from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, read_at

_TAIL_BYTES = 1 << 14  # read at first after a block, for the end of its last line


class CompleteLines(NamedTuple):
    """Complete lines, each with its newline."""

    data: bytes


class LongLine(NamedTuple):
    """A line that is too long to hold in memory: its offset, its length with the newline, its hash without it."""

    offset: int
    length: int
    hash: bytes


class UnfinishedLine(NamedTuple):
    """The bytes after the last newline; for a very long line only the size."""

    data: bytes
    size: int


class Chunk(NamedTuple):
    """The lines that begin in one block: complete ones, then one that is too long, and what follows the last newline."""

    offset: int
    data: bytes
    long: LongLine | None = None
    unfinished: UnfinishedLine | None = None
    """Given if the file ends here; it may be empty."""


def read_lines(file: File, offset: int, limits: ReadLimits) -> Iterator[CompleteLines | LongLine | UnfinishedLine]:
    """Yield the lines of a file from an offset on; the last item is always the unfinished line, which may be empty."""
    for start in count(offset, limits.block):
        chunk = read_chunk(file, offset, start, limits)
        if chunk.data:
            yield CompleteLines(chunk.data)
        if chunk.long:
            yield chunk.long
        if chunk.unfinished:
            yield chunk.unfinished
            return


def read_chunk(file: File, base: int, start: int, limits: ReadLimits) -> Chunk:
    """Read the lines that begin in the block at `start`. A line begins at `base`, or after a newline."""
    # Example: "a\nbc\nd" with blocks of 3 bytes: "a\nb" has the lines "a" and "bc", "c\nd" only the unfinished "d".
    at = start - (start > base)  # the byte before the block tells whether a line begins with it
    block = read_at(file, start + limits.block - at, at)
    is_last = at + len(block) < start + limits.block
    first = block.find(b"\n") + 1 if start > base else 0
    if start > base and not first:
        return Chunk(start, b"", None, UnfinishedLine(b"", 0) if is_last else None)
    stop = block.rfind(b"\n") + 1
    if is_last:
        return Chunk(at + first, block[first:stop], None, UnfinishedLine(block[stop:], len(block) - stop))
    if stop == len(block):
        return Chunk(at + first, block[first:])
    rest, size = b"", min(_TAIL_BYTES, limits.block)
    while piece := read_at(file, size, at + len(block) + len(rest)):
        if end := piece.find(b"\n") + 1:
            return Chunk(at + first, b"".join((memoryview(block)[first:], rest, memoryview(piece)[:end])))
        rest += piece
        size = min(2 * size, limits.stream_above)
        if len(block) - stop + len(rest) > limits.stream_above:
            line = _measure_long_line(file, at + stop, limits)
            lines = block[first:stop]
            if isinstance(line, UnfinishedLine):
                return Chunk(at + first, lines, None, line)
            return Chunk(at + first, lines, line)
    return Chunk(
        at + first, block[first:stop], None, UnfinishedLine(block[stop:] + rest, len(block) - stop + len(rest))
    )


def _measure_long_line(file: File, offset: int, limits: ReadLimits) -> LongLine | UnfinishedLine:
    """Hash a long line as a stream, without holding it; return an unfinished line if it has no newline yet."""
    hash, at = sha256(), offset
    while block := read_at(file, limits.block, at):
        stop = block.find(b"\n")
        hash.update(block[:stop] if stop >= 0 else block)
        if stop >= 0:
            return LongLine(offset, at + stop + 1 - offset, hash.digest())
        at += len(block)
    return UnfinishedLine(b"", at - offset)
