"""Convert values of transcripts, which may be anything, to those that every engine can store."""

from __future__ import annotations

import re
from datetime import date, datetime
from hashlib import sha256

from clew.wire.timestamps import format_timestamp

_MAX_NAME = 200  # characters of a key column; a PostgreSQL index entry has at most 2,704 bytes
_MAX_NUMBER = 10**15
_NO_TIME = ("", 0, "")
_UNSUPPORTED = re.compile("[\0\ud800-\udfff]")


def sql_text(value: str | None) -> str:
    """Return a text that every engine can store: NUL becomes its symbol, an unpaired surrogate the replacement
    character.
    """
    if not value:
        return ""
    return _UNSUPPORTED.sub(lambda found: "\u2400" if found[0] == "\0" else "\ufffd", value)


def sql_name(value: str | None) -> str:
    """Return a text for a key column; one that is too long for an index becomes its hash."""
    cleaned = sql_text(value)
    return cleaned if len(cleaned) <= _MAX_NAME else f"sha256:{sha256(cleaned.encode()).hexdigest()}"


def is_plain_name(value: str) -> bool:
    """Return whether a name is stored as it is in a key column."""
    return len(value) <= _MAX_NAME and not _UNSUPPORTED.search(value)


def sql_times(moment: datetime | None) -> tuple[str, int, str]:
    """Return a time as text, in milliseconds, and its day."""
    try:
        written = format_timestamp(moment) if moment else ""
    except OverflowError:  # its time zone moves it out of the years 1 to 9999
        written = ""
    return (written, round(moment.timestamp() * 1000), written[:10]) if moment and written else _NO_TIME


def sql_week(day: str) -> str:
    """Return the ISO week of a day: `2026-W47` for `2026-11-16`; empty without a day."""
    if not day:
        return ""
    year, week, _ = date.fromisoformat(day).isocalendar()
    return f"{year:04}-W{week:02}"


def sql_times_and_week(moment: datetime | None) -> tuple[str, int, str, str]:
    """Return a time as text, in milliseconds, its day, and its week."""
    times = sql_times(moment)
    return *times, sql_week(times[2])


def sql_integer(value: float | None) -> int:
    """Return a number that every engine can store and sum; files may contain any value."""
    if not value or value != value:
        return 0
    return round(max(-_MAX_NUMBER, min(_MAX_NUMBER, value)))
