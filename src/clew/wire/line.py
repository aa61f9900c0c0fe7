"""Lines: bytes up to and with their newline, where they stand in the file.

Lines are cut at `\\n` alone: U+2028, U+0085 and the like are ordinary characters inside JSON strings. The bytes are read
in large pieces that end at a newline; a line only points into its piece, so nothing is copied until it is asked for.

A line longer than `LONGEST` is never held in memory: it stays in the file, as an `Unread` buffer.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any, BinaryIO, overload

from msgspec import Struct

PIECE = 1 << 16  # 64 KiB and what is decoded from it stay in the processor's cache: 1 MiB took a third longer
LONGEST = 256 << 20  # bytes of a line; the program that writes these files cannot read much longer ones itself
_STEP = 1 << 20  # bytes read at a time of a line whose end is looked for
BOM = b"\xef\xbb\xbf"

Source = str | os.PathLike[str] | bytes | BinaryIO


class Unread:
    """The bytes of a long line, which are still in the file and are read when they are asked for."""

    __slots__ = ("offset", "path", "size")

    def __init__(self, path: str, offset: int, size: int) -> None:
        self.path, self.offset, self.size = path, offset, size

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> bytes: ...

    def __getitem__(self, place: int | slice) -> int | bytes:
        start, stop, _ = place.indices(self.size) if isinstance(place, slice) else (place, place + 1, 1)
        with open(self.path, "rb") as file:
            file.seek(self.offset + start)
            found = file.read(stop - start)
        return found if isinstance(place, slice) else found[0]


if TYPE_CHECKING:
    Buffer = bytes | Unread
else:
    Buffer = Any  # a line is a field of an entry, and the decoder of entries takes no other union


class Line(Struct, frozen=True, gc=False):
    """A line of a file, or (when not `whole`) one object found inside a damaged line.

    A run of very many short lines that hold nothing is one `Line`; `count` says how many it stands for.
    """

    number: int
    offset: int
    buffer: Buffer
    start: int
    stop: int
    whole: bool = True
    note: str = ""
    count: int = 1

    def __repr__(self) -> str:
        return f"<Line {self.number} at {self.offset}, {self.stop - self.start} bytes>"

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def raw(self) -> bytes:
        """The exact bytes, newline included."""
        return self.buffer[self.start : self.stop]

    def tail(self, size: int) -> bytes:
        """The last bytes, without reading what stands before them."""
        return self.buffer[max(self.start, self.stop - size) : self.stop]

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
    for buffer, at in all_pieces(source, offset=offset):
        start, size = 0, len(buffer)
        while start < size:
            stop = size if isinstance(buffer, Unread) else buffer.find(b"\n", start) + 1 or size
            yield Line(number, at + start, buffer, start, stop)
            start, number = stop, number + 1


def pieces(source: Source, *, offset: int = 0, size: int = PIECE) -> Iterator[tuple[bytes, int]]:
    """The source as (bytes, offset) pieces that end at a newline, but for the last one. Too long lines are left out."""
    return ((piece, at) for piece, at in all_pieces(source, offset=offset, size=size) if isinstance(piece, bytes))


def all_pieces(source: Source, *, offset: int = 0, size: int = PIECE) -> Iterator[tuple[bytes | Unread, int]]:
    """As `pieces`, with each line that is too long as an `Unread` of its own."""
    with opened(source) as file:
        file.seek(offset)
        while piece := file.read(size):
            if not piece.endswith(b"\n"):
                piece += file.readline(_STEP)
            if piece.endswith(b"\n") or len(piece) < size:
                yield piece, offset
                offset += len(piece)
                continue
            start = piece.rfind(b"\n") + 1
            length = len(piece) - start + _rest_of_line(file)
            if length <= LONGEST or not (path := _path_of(file)):
                file.seek(offset)
                piece = file.read(start + length)
                yield piece, offset
            else:
                if start:
                    yield piece[:start], offset
                yield Unread(path, offset + start, length), offset + start
            offset += start + length
            file.seek(offset)


def _rest_of_line(file: BinaryIO) -> int:
    """How many bytes the line that a file stands in goes on for; none of them are kept."""
    length = 0
    while step := file.read(_STEP):
        if stop := step.find(b"\n") + 1:
            return length + stop
        length += len(step)
    return length


def _path_of(file: BinaryIO) -> str:
    """The path under which an open file can be opened again; empty if it has none."""
    name = getattr(file, "name", "")
    return name if isinstance(name, str) and os.path.isfile(name) else ""


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading. Raises OSError for what is not a file: reading a pipe or a device may never end."""
    mode = Path(path).stat().st_mode
    if not S_ISREG(mode) and not S_ISDIR(mode):  # a folder is refused by `open`, in better words
        raise OSError(EINVAL, "Not a regular file", os.fspath(path))
    return open(path, "rb")


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        with open_regular(source) as file:
            yield file
    else:
        yield source
