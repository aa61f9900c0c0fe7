"""Find the last compaction of a session file from its end, without decoding the lines after it."""

from __future__ import annotations

import os
from typing import BinaryIO

from stringzilla import rfind

from clew.wire.entry import Entry, parse_line
from clew.wire.line import MAX_LINE, Line, open_regular

_MARK = b'"compact_boundary"'  # quotes inside a JSON string are escaped, so a line without these bytes is no boundary
_STEP = 1 << 20  # bytes read at a time


def find_last_boundary(path: str | os.PathLike[str]) -> Entry | None:
    """Return the last line of a file that is a compact boundary; None if there is none.

    The line number of the entry is not known and always 1.
    """
    with open_regular(path) as file:
        stop = file.seek(0, os.SEEK_END)
        after = b""
        while stop > 0:
            start = max(0, stop - _STEP)
            piece = _read_span(file, start, stop) + after
            at, begin = rfind(piece, _MARK), start
            while at >= 0:
                newline = piece.rfind(b"\n", 0, at)
                begin = start + newline + 1 if newline >= 0 else _find_line_start(file, start)
                if (entry := _parse_boundary(file, begin)) is not None:
                    return entry
                at = rfind(piece, _MARK, 0, begin - start) if begin > start else -1
            stop = min(start, begin)
            after = piece[: len(_MARK) - 1]
    return None


def line_start(path: str | os.PathLike[str], position: int) -> int:
    """Return the offset at which the line begins that contains a position of a file."""
    with open_regular(path) as file:
        return _find_line_start(file, position)


def _find_line_start(file: BinaryIO, position: int) -> int:
    while position > 0:
        start = max(0, position - _STEP)
        newline = _read_span(file, start, position).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        position = start
    return 0


def _read_span(file: BinaryIO, start: int, stop: int) -> bytes:
    file.seek(start)
    return file.read(stop - start)


def _parse_boundary(file: BinaryIO, offset: int) -> Entry | None:
    file.seek(offset)
    raw = file.readline(MAX_LINE + 1)
    item = parse_line(Line(1, offset, raw, 0, len(raw)))
    return item if isinstance(item, Entry) and item.is_boundary else None
