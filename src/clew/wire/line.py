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

PIECE = 1 << 20  # 1 MiB: larger pieces were no faster and pin more memory
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
        held: list[bytes] = []
        while block := file.read(size):
            cut = block.rfind(b"\n") + 1
            if not cut:
                held.append(block)
                continue
            held.append(block[:cut])
            piece = b"".join(held)
            yield piece, offset
            offset += len(piece)
            held = [block[cut:]] if cut < len(block) else []
        if held:
            yield b"".join(held), offset


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        with open(source, "rb", buffering=0) as file:
            yield file
    else:
        yield source
