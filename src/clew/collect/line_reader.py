r"""Read complete lines of any length from an open file, starting at an offset.

Lines end at `\n` only. Bytes after the last newline are an unfinished line, which is not ingested before it is
complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, read_at


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


def read_lines(file: File, offset: int, limits: ReadLimits) -> Iterator[CompleteLines | LongLine | UnfinishedLine]:
    """Yield the lines of a file from an offset on; the last item is always the unfinished line, which may be empty."""
    # Example: the blocks "a\nb" and "c\nd" yield "a\n", then "bc\n", and the unfinished line "d".
    buffer, size = b"", limits.block
    while block := read_at(file, size, offset + len(buffer)):
        stop = block.rfind(b"\n") + 1
        if stop:
            data = b"".join((buffer, memoryview(block)[:stop]))
            offset += len(data)
            buffer, size = block[stop:], limits.block
            yield CompleteLines(data)
            continue
        buffer += block
        size = min(2 * size, limits.stream_above)
        if len(buffer) > limits.stream_above:
            line = _measure_long_line(file, offset, limits)
            if isinstance(line, UnfinishedLine):
                yield line
                return
            offset += line.length
            buffer, size = b"", limits.block
            yield line
    yield UnfinishedLine(buffer, len(buffer))


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
