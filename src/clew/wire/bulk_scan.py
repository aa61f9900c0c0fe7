"""Scanning: a pass over many files that keeps nothing of them.

It decodes only the fields of a shape (`Spoken`: who said what, or another), a piece at a time, with the offset of each line
beside it. Reading a session (`entry.read`) goes the same way and keeps the bytes; a piece with anything odd in it goes
through that reader, so the two never differ in what they find. `holding` leaves out the lines without some bytes, undecoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Generic, NamedTuple, TypeVar, overload

import msgspec
from stringzilla import find

from clew.wire.entry import REFUSALS, Damaged, Entry, Spoken, is_one_object_a_line, read_piece
from clew.wire.lenient import soften
from clew.wire.line import PIECE, Source, pieces

Shape = TypeVar("Shape", bound=msgspec.Struct)
WIDE = 1 << 18  # bytes of a piece of which most lines are left out (measured)


class LineBatch(NamedTuple, Generic[Shape]):
    """Some lines of a file: what they say, where each begins, where the last ends, and how many were damaged."""

    spoken: list[Shape]
    offsets: list[int]
    stop: int
    damaged: int = 0


@overload
def scan(source: Source, *, offset: int = 0, finished: bool = False) -> Iterator[LineBatch[Spoken]]: ...


@overload
def scan(
    source: Source, *, offset: int = 0, finished: bool = False, shape: type[Shape], holding: bytes = b""
) -> Iterator[LineBatch[Shape]]: ...


def scan(
    source: Source,
    *,
    offset: int = 0,
    finished: bool = False,
    shape: type[Shape] = Spoken,  # type: ignore[assignment]
    holding: bytes = b"",
) -> Iterator[LineBatch[Shape]]:
    """The entries of a source in pieces, those saved from damaged lines included.

    `finished` leaves out an unterminated last line, to be read when it has been written.
    """
    decode = _decoder(shape).decode_lines
    for buffer, at in pieces(source, offset=offset, size=WIDE if holding else PIECE):
        if finished and not buffer.endswith(b"\n"):
            buffer = buffer[: buffer.rfind(b"\n") + 1]
        if holding:
            yield _holding(buffer, at, shape, holding)
            continue
        try:
            spoken = decode(buffer)
        except REFUSALS:
            spoken = []
        starts = is_one_object_a_line(buffer, len(spoken))
        if starts:
            yield LineBatch(spoken, [at + start for start in starts], at + len(buffer))
        elif buffer:
            yield _oddly(buffer, at, shape)


def _holding(buffer: bytes, at: int, shape: type[Shape], needle: bytes) -> LineBatch[Shape]:
    """The lines that hold some bytes, each by itself: the many without them are not even cut."""
    decode = _decoder(shape).decode
    spoken: list[Shape] = []
    offsets: list[int] = []
    damaged = 0
    place = find(buffer, needle)
    while place >= 0:
        start = buffer.rfind(b"\n", 0, place) + 1
        stop = buffer.find(b"\n", place) + 1 or len(buffer)
        try:
            spoken.append(decode(buffer[start:stop]))
            offsets.append(at + start)
        except REFUSALS:
            odd = _oddly(buffer[start:stop], at + start, shape)
            spoken += odd.spoken
            offsets += odd.offsets
            damaged += odd.damaged
        place = find(buffer, needle, stop)
    return LineBatch(spoken, offsets, at + len(buffer), damaged)


@cache
def _decoder(shape: type[Shape]) -> msgspec.json.Decoder[Shape]:
    return msgspec.json.Decoder(shape)


def _oddly(buffer: bytes, at: int, shape: type[Shape]) -> LineBatch[Shape]:
    found: list[Entry] = []
    damaged = 0
    for item in read_piece(buffer, at, 1):
        if isinstance(item, Entry):
            found.append(item)
        elif isinstance(item, Damaged):
            damaged += 1
            found.extend(item.salvaged)
    spoken = [_again(entry, shape) for entry in found]
    return LineBatch(spoken, [entry.offset for entry in found], at + len(buffer), damaged)


def _again(entry: Entry, shape: type[Shape]) -> Shape:
    """An entry in another shape."""
    try:
        made: Shape = _decoder(shape).decode(entry.line.json)
    except REFUSALS:
        made = soften(shape, entry.data)
    return made
