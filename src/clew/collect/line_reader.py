"""Cutting: the whole lines of an open file from an offset on, without a limit to their length.

Lines end at `\\n` alone. Bytes behind the last one are the rest: a line that is not finished, and not taken before it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, read_at


class Some(NamedTuple):
    """Whole lines, each with its newline."""

    data: bytes


class Long(NamedTuple):
    """A line that is too long to be held: where it is, how long with its newline, the hash of the line without it."""

    offset: int
    length: int
    hash: bytes


class Rest(NamedTuple):
    """The bytes behind the last newline; of a very long one only the size."""

    data: bytes
    size: int


def cut(file: File, offset: int, limits: ReadLimits) -> Iterator[Some | Long | Rest]:
    """What stands in a file from an offset on; the last is always the rest."""
    held, size = b"", limits.block
    while block := read_at(file, size, offset + len(held)):
        stop = block.rfind(b"\n") + 1
        if stop:
            data = held + block[:stop]
            offset += len(data)
            held, size = block[stop:], limits.block
            yield Some(data)
            continue
        held += block
        size = min(2 * size, limits.long)
        if len(held) > limits.long:
            line = _long(file, offset, limits)
            if isinstance(line, Rest):
                yield line
                return
            offset += line.length
            held, size = b"", limits.block
            yield line
    yield Rest(held, len(held))


def _long(file: File, offset: int, limits: ReadLimits) -> Long | Rest:
    """A long line, measured as a stream; or the rest of the file if it has no end yet."""
    hash, at = sha256(), offset
    while block := read_at(file, limits.block, at):
        stop = block.find(b"\n")
        hash.update(block[:stop] if stop >= 0 else block)
        if stop >= 0:
            return Long(offset, at + stop + 1 - offset, hash.digest())
        at += len(block)
    return Rest(b"", at - offset)
