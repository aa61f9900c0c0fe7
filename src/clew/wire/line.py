"""Lines: bytes up to and with their newline, where they stand in the file.

Lines are cut at `\\n` alone: U+2028, U+0085 and the like are ordinary characters inside JSON strings. The bytes are read
in large pieces that end at a newline; a line only points into its piece, so nothing is copied until it is asked for.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from msgspec import Struct

PIECE = 1 << 16  # 64 KiB and what is decoded from it stay in the processor's cache: 1 MiB took a third longer
BOM = b"\xef\xbb\xbf"

Source = str | os.PathLike[str] | bytes | BinaryIO


class Line(Struct, frozen=True, gc=False):
    """A line of a file, or (when not `whole`) one object found inside a damaged line."""

    number: int
    offset: int
    buffer: bytes
    start: int
    stop: int
    whole: bool = True
    note: str = ""

    def __repr__(self) -> str:
        return f"<Line {self.number} at {self.offset}, {self.stop - self.start} bytes>"

    @property
    def raw(self) -> bytes:
        """The exact bytes, newline included."""
        return self.buffer[self.start : self.stop]

    @property
    def json(self) -> bytes:
        """The bytes without newline, surrounding white space and byte order mark."""
        return self.raw.removeprefix(BOM).strip()

    @property
    def end(self) -> int:
        """The file offset behind this line: where a later read goes on."""
        return self.offset + self.stop - self.start

    def part(self, start: int, stop: int) -> Line:
        """An object found inside this line, by its place in `raw`."""
        at = self.start + start
        return Line(self.number, self.offset + start, self.buffer, at, self.start + stop, whole=False)

    @property
    def is_terminated(self) -> bool:
        return self.stop > self.start and self.buffer[self.stop - 1] == 0x0A


def lines(source: Source, *, offset: int = 0, number: int = 1) -> Iterator[Line]:
    """All lines of a file (or of bytes) from a byte offset; their `raw` joined is the source."""
    for buffer, at in pieces(source, offset=offset):
        start, size = 0, len(buffer)
        while start < size:
            stop = buffer.find(b"\n", start) + 1 or size
            yield Line(number, at + start, buffer, start, stop)
            start, number = stop, number + 1


def pieces(source: Source, *, offset: int = 0, size: int = PIECE) -> Iterator[tuple[bytes, int]]:
    """The source as (bytes, offset) pieces that end at a newline, but for the last one."""
    with opened(source) as file:
        file.seek(offset)
        while piece := file.read(size):
            if not piece.endswith(b"\n"):
                piece += file.readline()
            yield piece, offset
            offset += len(piece)


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            yield file
    else:
        yield source
