"""Order session files by their content: the time of the last entry of the conversation.

Only entries with a uuid count: Claude Code appends titles and other notes to old sessions. A copy, a restore or a
checkout changes only the time of the file, which decides whether a file must be read again and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct
from msgspec.json import Decoder

from clew.wire.entry import DECODE_ERRORS, Damaged, Entry, parse_line
from clew.wire.layout import AgentFile, SessionFile
from clew.wire.line import BOM, Line
from clew.wire.timestamps import parse_timestamp

_FIRST_READ = 1 << 13  # bytes; the last entry with a time is nearly always in there
_FIELD = b'"timestamp"'
_MAX_READ = 32 << 20  # bytes read at most in search of a time

File = TypeVar("File", SessionFile, AgentFile)
Times = tuple[datetime | None, datetime | None]  # of the last entry, and of the last note after it


class _Timed(Struct, gc=False):
    uuid: str | None = None
    timestamp: str | int | float | None = None


_decode = Decoder(_Timed).decode


def last_used(file: SessionFile | AgentFile) -> datetime:
    """Return the time of the last entry that has one; if none has, or the file is unreadable, the time of the file."""
    return last_time(file) or file_time(file)


def file_time(file: SessionFile | AgentFile) -> datetime:
    """Return when a file was written to last, as the file system says."""
    return datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)


def last_time(file: SessionFile | AgentFile) -> datetime | None:
    """Return the time of the last entry that has one; None if there is no such entry, or the file is unreadable."""
    return last_times(file)[0]


def last_times(file: SessionFile | AgentFile) -> Times:
    """Return the time of the last entry that has one, and that of the last note after it."""
    return _last_times(file.location, file.size, file.mtime_ns)


def read_last_times(file: SessionFile | AgentFile) -> Times:
    """Return the `last_times` of a file, for those who keep them: the cache of `last_times` takes 20 MB if it is full."""
    return _last_times.__wrapped__(file.location, file.size, file.mtime_ns)


def newest_first(files: Iterable[File]) -> list[File]:
    """Sort files by their last use, then by id."""
    return sorted(files, key=sort_key)


def is_within(file: SessionFile | AgentFile, since: datetime | None, until: datetime | None) -> bool:
    """Return True if a session was used in a range of time: its first use is before `until`, and its last not before
    `since`. This is the one rule for all lists and for `search`.
    """
    if since is None and until is None:
        return True
    when = last_used(file)
    if (since is not None and when < since) or until is None or when < until:
        return since is None or when >= since
    started = _first_time(file.location, file.size, file.mtime_ns)
    return started is not None and started < until


def sort_key(file: SessionFile | AgentFile, times: Times | None = None) -> tuple[float, float, str]:
    """Return the key that sorts files newest first. Of a session and its copies the copy that was made last is first:
    clew notes in a copy when it was made. `times` are the `last_times` of the file, if they are known.
    """
    used, noted = times or last_times(file)
    return (-(used or file_time(file)).timestamp(), -(noted.timestamp() if noted else 0.0), file.id)


@lru_cache(maxsize=1 << 16)
def _last_times(path: str, size: int, mtime_ns: int) -> Times:
    """Read a file backwards; cached for each state of the file."""
    noted: datetime | None = None
    try:
        with open(path, "rb", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            # The file is read backwards in growing steps. `rest` is the beginning of a line that the step before cut
            # off.
            end, rest, step = size, b"", _FIRST_READ
            while end and size - end < _MAX_READ:
                start = max(0, end - step)
                file.seek(start)
                piece = file.read(end - start) + rest
                first = piece.find(b"\n") + 1 if start else 0
                if first or not start:
                    time, note = _times_of_lines(piece[first:])
                    noted = noted or note
                    if time:
                        return time, noted
                    piece = piece[:first]
                end, rest, step = start, piece, step * 4
    except OSError:  # whoever reads the file reports why
        pass
    return None, noted


@lru_cache(maxsize=1 << 16)
def _first_time(path: str, size: int, mtime_ns: int) -> datetime | None:
    """Return the time of the first entry that has one; cached for each state of the file."""
    try:
        with open(path, "rb") as file:
            return next((time for line in file if _FIELD in line and (time := _times_of_line(line)[0])), None)
    except OSError:  # whoever reads the file reports why
        return None


def _times_of_lines(piece: bytes) -> Times:
    """Return the times of the last line that has one. Lines without the field are not parsed: there can be millions."""
    stop = len(piece)
    noted: datetime | None = None
    while (position := piece.rfind(_FIELD, 0, stop)) >= 0:
        start = piece.rfind(b"\n", 0, position) + 1
        end = piece.find(b"\n", position, stop)
        time, note = _times_of_line(piece[start : stop if end < 0 else end])
        noted = noted or note
        if time:
            return time, noted
        stop = start
    return None, noted


def _times_of_line(line: bytes) -> Times:
    try:
        entry = _decode(line.removeprefix(BOM))
        time = parse_timestamp(entry.timestamp)
        return (time, None) if entry.uuid else (None, time)
    except DECODE_ERRORS:
        item = parse_line(Line(0, 0, line, 0, len(line)))
    entries = [item] if isinstance(item, Entry) else item.salvaged if isinstance(item, Damaged) else []
    return next((each.time for each in reversed(entries) if each.uuid and each.time), None), None
