"""Scan many files quickly: decode only the fields of one shape and keep no bytes.

A scan decodes piece by piece and reports the offset of each line. `entry.read` works the same way and keeps the
bytes. A piece with anything unusual in it goes through that reader, so both always find the same entries. `holding`
skips lines that do not contain some bytes, without decoding them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Generic, NamedTuple, TypeVar, overload

import msgspec
from stringzilla import find

from clew.wire.entry import DECODE_ERRORS, BaseEntry, Damaged, Entry, find_line_starts, read_piece
from clew.wire.lenient import convert_leniently
from clew.wire.line import PIECE_SIZE, Source, pieces

Shape = TypeVar("Shape", bound=msgspec.Struct)
WIDE_PIECE = 1 << 18  # bytes of a piece if most lines are skipped (measured)


class LineBatch(NamedTuple, Generic[Shape]):
    """Some lines of a file: their decoded fields, where each begins, where the last ends, and the number of damaged
    lines.
    """

    spoken: list[Shape]
    offsets: list[int]
    stop: int
    damaged: int = 0


@overload
def scan(
    source: Source, *, offset: int = 0, stop: int | None = None, finished: bool = False
) -> Iterator[LineBatch[BaseEntry]]: ...


@overload
def scan(
    source: Source,
    *,
    offset: int = 0,
    stop: int | None = None,
    finished: bool = False,
    shape: type[Shape],
    holding: bytes = b"",
) -> Iterator[LineBatch[Shape]]: ...


def scan(
    source: Source,
    *,
    offset: int = 0,
    stop: int | None = None,
    finished: bool = False,
    shape: type[Shape] = BaseEntry,  # type: ignore[assignment]
    holding: bytes = b"",
) -> Iterator[LineBatch[Shape]]:
    """Yield the entries of a source in batches, including those saved from damaged lines.

    `finished` leaves out an unterminated last line, which can be read when it is complete. `stop` is the offset of a line
    that is not read any more.
    """
    decode = _decoder(shape).decode_lines
    for buffer, at in pieces(source, offset=offset, size=WIDE_PIECE if holding else PIECE_SIZE):
        if stop is not None and at + len(buffer) > stop:
            buffer = buffer[: max(0, stop - at)]
            if not buffer:
                return
        if finished and not buffer.endswith(b"\n"):
            buffer = buffer[: buffer.rfind(b"\n") + 1]
        if holding:
            yield decode_lines_containing(holding, buffer, at, shape)
            continue
        try:
            spoken = decode(buffer)
        except DECODE_ERRORS:
            spoken = []
        starts = find_line_starts(buffer, len(spoken))
        if starts:
            yield LineBatch(spoken, [at + start for start in starts], at + len(buffer))
        elif buffer:
            yield _scan_tolerantly(buffer, at, shape)


def decode_lines_containing(
    needle: bytes, buffer: bytes | bytearray, at: int, shape: type[Shape], *, start: int = 0, stop: int | None = None
) -> LineBatch[Shape]:
    """Decode only the lines that contain `needle`; the others are not even split. `at` is the offset of the buffer, and the
    lines are those between `start` and `stop`.
    """
    end = len(buffer) if stop is None else stop
    decode = _decoder(shape).decode
    spoken: list[Shape] = []
    offsets: list[int] = []
    damaged = 0
    position = find(buffer, needle, start, end)
    while position >= 0:
        first = buffer.rfind(b"\n", start, position) + 1 or start
        start = buffer.find(b"\n", position, end) + 1 or end
        line = buffer[first:start]  # a copy, because raw fields refer to it
        try:
            spoken.append(decode(line))
            offsets.append(at + first)
        except DECODE_ERRORS:
            batch = _scan_tolerantly(bytes(line), at + first, shape)
            spoken += batch.spoken
            offsets += batch.offsets
            damaged += batch.damaged
        position = find(buffer, needle, start, end)
    return LineBatch(spoken, offsets, at + end, damaged)


@cache
def _decoder(shape: type[Shape]) -> msgspec.json.Decoder[Shape]:
    return msgspec.json.Decoder(shape)


def _scan_tolerantly(buffer: bytes, at: int, shape: type[Shape]) -> LineBatch[Shape]:
    """Read a piece line by line, with the tolerant reader."""
    entries: list[Entry] = []
    damaged = 0
    for item in read_piece(buffer, at, 1):
        if isinstance(item, Entry):
            entries.append(item)
        elif isinstance(item, Damaged):
            damaged += 1
            entries.extend(item.salvaged)
    spoken = [_decode_as(entry, shape) for entry in entries]
    return LineBatch(spoken, [entry.offset for entry in entries], at + len(buffer), damaged)


def _decode_as(entry: Entry, shape: type[Shape]) -> Shape:
    """Decode an entry into another shape."""
    try:
        decoded: Shape = _decoder(shape).decode(entry.line.json)
    except DECODE_ERRORS:
        decoded = convert_leniently(shape, entry.data)
    return decoded
