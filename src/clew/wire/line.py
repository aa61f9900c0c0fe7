r"""Split files into lines: exact bytes, including the newline, with their offsets.

Lines end at `\n` alone: U+2028, U+0085 and the like are ordinary characters inside JSON strings. Files are read in
large pieces that end at a newline. A line only points into its piece, so nothing is copied until it is used.

A line longer than `MAX_LINE` is never loaded: it stays in the file, as an `Unread` buffer.
"""

# Annotations are values here, not text: msgspec would compile each text when it makes a decoder of entries.

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any, BinaryIO, overload

from msgspec import Struct

PIECE_SIZE = 1 << 16  # 64 KiB and its decoded entries fit into the CPU cache: 1 MiB took a third longer
MAX_LINE = 256 << 20  # bytes; Claude Code itself cannot read much longer lines
_STEP = 1 << 20  # bytes read at a time in search of the end of a long line
BOM = b"\xef\xbb\xbf"
_BOM_START = BOM[0]

Source = str | os.PathLike[str] | bytes | BinaryIO


class Unread:
    """The bytes of a long line, which stay in the file and are read on access."""

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
            data = file.read(stop - start)
        return data if isinstance(place, slice) else data[0]


if TYPE_CHECKING:
    Buffer = bytes | Unread
else:
    Buffer = Any  # a line is a field of an entry, whose decoder accepts no such union


class Line(Struct, frozen=True, gc=False):
    """A line of a file, or (if not `whole`) one object found inside a damaged line.

    A long run of short lines without an entry is one `Line`; `count` is the number of lines it stands for.
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

    def head(self, size: int) -> bytes:
        """Return the first bytes, without copying those after them."""
        return self.buffer[self.start : min(self.stop, self.start + size)]

    def tail(self, size: int) -> bytes:
        """Return the last bytes, without reading those before them."""
        return self.buffer[max(self.start, self.stop - size) : self.stop]

    @property
    def has_bom(self) -> bool:
        """Whether the line begins with a byte order mark."""
        return self.buffer[self.start] == _BOM_START and self.head(len(BOM)) == BOM if self.stop > self.start else False

    def contains(self, needle: bytes) -> bool:
        """Return whether some bytes are in this line, without copying it."""
        if isinstance(self.buffer, bytes):
            return self.buffer.find(needle, self.start, self.stop) >= 0
        return needle in self.raw

    @property
    def json(self) -> bytes:
        """The bytes without newline, surrounding white space and byte order mark."""
        stop = self.stop - 1 if self.is_terminated else self.stop  # else the newline would be removed from a copy
        return self.buffer[self.start : stop].removeprefix(BOM).strip()

    def with_bom_of_line(self, json: bytes) -> bytes:
        """Return JSON that takes the place of this line's, with the byte order mark of the line if it has one.

        The mark decides whether Claude Code reads the line, so an edit must neither lose nor add it.
        """
        return BOM + json if self.has_bom else json

    @property
    def view(self) -> bytes | memoryview:
        """The bytes without the newline at the end, for a decoder: they are not copied."""
        stop = self.stop - 1 if self.is_terminated else self.stop
        return memoryview(self.buffer)[self.start : stop] if isinstance(self.buffer, bytes) else self.raw

    def is_json(self, json: bytes) -> bool:
        """Return whether `json` equals these bytes, without copying them."""
        if self.size - self.is_terminated == len(json) and isinstance(self.buffer, bytes):
            return self.buffer.startswith(json, self.start)
        return self.json == json

    @property
    def end(self) -> int:
        """The file offset after this line, where the next read starts."""
        return self.offset + self.stop - self.start

    def part(self, start: int, stop: int) -> "Line":
        """Return an object found inside this line, by its position in `raw`."""
        at = self.start + start
        return Line(self.number, self.offset + start, self.buffer, at, self.start + stop, whole=False)

    @property
    def is_terminated(self) -> bool:
        return self.stop > self.start and self.buffer[self.stop - 1] == 0x0A


def lines(source: Source, *, offset: int = 0, number: int = 1) -> Iterator[Line]:
    """Yield all lines of a file (or of bytes) from a byte offset; their `raw` joined equals the source."""
    for buffer, at in all_pieces(source, offset=offset):
        start, size = 0, len(buffer)
        while start < size:
            stop = size if isinstance(buffer, Unread) else buffer.find(b"\n", start) + 1 or size
            yield Line(number, at + start, buffer, start, stop)
            start, number = stop, number + 1


def pieces(source: Source, *, offset: int = 0, size: int = PIECE_SIZE) -> Iterator[tuple[bytes, int]]:
    """Yield the source as (bytes, offset) pieces that end at a newline, except the last. Lines over MAX_LINE are
    left out.
    """
    return ((piece, at) for piece, at in all_pieces(source, offset=offset, size=size) if isinstance(piece, bytes))


def all_pieces(source: Source, *, offset: int = 0, size: int = PIECE_SIZE) -> Iterator[tuple[bytes | Unread, int]]:
    """Yield the same as `pieces`, with each line over MAX_LINE as a separate `Unread`."""
    with open_source(source) as file:
        file.seek(offset)
        reach = size
        while piece := file.read(reach):
            stop = len(piece) if piece.endswith(b"\n") else piece.rfind(b"\n") + 1
            if not stop and reach < _STEP:  # a long line, or an unterminated one
                reach = _STEP
            elif stop:
                yield (piece if stop == len(piece) else piece[:stop]), offset
                offset, reach = offset + stop, size
            else:
                length = len(piece) + _remaining_line_length(file)
                if length > MAX_LINE and (path := _path_of(file)):
                    yield Unread(path, offset, length), offset
                else:
                    file.seek(offset)
                    yield _read_exactly(file, length), offset
                offset, reach = offset + length, size
            if stop != len(piece):
                file.seek(offset)


def _read_exactly(file: BinaryIO, length: int) -> bytes:
    """Read `length` bytes, or up to the end of the file: one call may return fewer."""
    data = file.read(length)
    while len(data) < length and (more := file.read(length - len(data))):
        data += more
    return data


def _remaining_line_length(file: BinaryIO) -> int:
    """Return the number of bytes up to the end of the line at the file's position, without keeping them."""
    length = 0
    while step := file.read(_STEP):
        if stop := step.find(b"\n") + 1:
            return length + stop
        length += len(step)
    return length


def _path_of(file: BinaryIO) -> str:
    """Return a path that opens an open file again; "" if there is none."""
    name = getattr(file, "name", "")
    return name if isinstance(name, str) and os.path.isfile(name) else ""


def open_regular(path: str | os.PathLike[str], buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading. Raises OSError for other kinds: reading a pipe or a device may never end."""
    mode = os.stat(path).st_mode
    if not S_ISREG(mode) and not S_ISDIR(mode):  # `open` refuses a folder with a better message
        raise OSError(EINVAL, "Not a regular file", os.fspath(path))
    return open(path, "rb", buffering)


@contextmanager
def open_source(source: Source) -> Iterator[BinaryIO]:
    """Open a source as a binary file."""
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        with open_regular(source, buffering=0) as file:  # pieces are larger than a buffer
            yield file
    else:
        yield source
