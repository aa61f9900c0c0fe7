"""Convert the timestamps in session files, and times typed by users, to aware datetimes in UTC.

Every instant is at least a year away from both ends of the range of `datetime`, so that every time zone can show it
and a few days can be added or subtracted. A time outside that range is treated as missing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TypeGuard

EARLIEST = datetime(2, 1, 1, tzinfo=UTC)
LATEST = datetime(9998, 12, 31, tzinfo=UTC)


@lru_cache(16, typed=True)  # several facts of an entry need its time
def parse_timestamp(value: str | int | float | None) -> datetime | None:
    """Parse a text as JavaScript does, or milliseconds since 1970; None if it is not a date or out of range."""
    if value is None or isinstance(value, bool):
        return None
    try:
        time = _parse_text(value) if isinstance(value, str) else datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return time if time is not None and EARLIEST <= time <= LATEST else None


def has_usual_form(value: str | int | float | None) -> TypeGuard[str]:
    """Return whether a timestamp has the form that Claude Code writes."""
    return isinstance(value, str) and len(value) == 24 and value[4::3].startswith("--T::.") and value[23] == "Z"


def is_earlier_text(value: str | int | float | None, text: str) -> bool:
    """Return whether a timestamp is earlier than a text of the usual form, by the letters alone; False if it must be
    parsed.

    30 February and 24 o'clock, which JavaScript accepts, are later than they read.
    """
    return has_usual_form(value) and value < text and value[8:10] <= "28" and value[11:13] <= "23"


def _parse_text(text: str) -> datetime | None:
    if has_usual_form(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:  # for example 30 February, which JavaScript accepts
            pass
    from clew.wire.javascript_dates import parse_date  # few files need it, and it takes long to import

    return parse_date(text)


def format_timestamp(moment: datetime) -> str:
    """Format a time as Claude Code does: UTC with milliseconds and a Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_AGO = re.compile(r"(\d+)\s*(m|min|minutes?|h|hours?|d|days?|w|weeks?|mo|months?|y|years?)(?:\s+ago)?")
_LENGTH = {"m": 1 / 1440, "h": 1 / 24, "d": 1, "w": 7, "mo": 30, "y": 365}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_PART_OF_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?")


def parse_user_time(text: str | datetime, now: datetime | None = None) -> datetime:
    """Parse a point in time as users write it: `7d`, `2 weeks ago`, `yesterday`, `last week`, `monday`, `october`,
    `2026`, `2026-01`, `2026-01-31`, or an ISO time. A day, week, month or year stands for its beginning.

    Days are those of the local time zone. Raises ValueError with a full sentence for anything else.
    """
    if isinstance(text, datetime):
        return text if text.tzinfo else text.astimezone()
    try:
        return _parse_user_time(text.strip(), now or datetime.now(UTC))
    except (ValueError, OverflowError):
        forms = "7d, 2w, yesterday, last week, october, 2026-01-31 or 2026-01-31T12:00"
        raise ValueError(f"{text!r} is not a time: write {forms}") from None


def _parse_user_time(text: str, now: datetime) -> datetime:
    word = text.lower()
    if word == "now":
        return now
    if match := _AGO.fullmatch(word):
        unit = "mo" if match[2].startswith("mo") else match[2][0]
        return now - timedelta(days=int(match[1]) * _LENGTH[unit])
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    point = _named_day(" ".join(word.split()), midnight) or datetime.fromisoformat(text)
    return point if point.tzinfo else point.astimezone()


def _named_day(word: str, today: datetime) -> datetime | None:
    """Return the midnight that begins a named day, week, month or year; None for other texts."""
    if match := _PART_OF_DATE.fullmatch(word):
        return datetime(int(match[1]), int(match[2] or 1), 1)
    for number, name in enumerate(_WEEKDAYS):
        if word in (name, name[:3]):
            return today - timedelta(days=(today.weekday() - number) % 7)
    for number, name in enumerate(_MONTHS, 1):
        if word in (name, name[:3]):
            return datetime(today.year - (number > today.month), number, 1)
    this_week, this_month = today - timedelta(days=today.weekday()), today.replace(day=1)
    return {
        "today": today,
        "yesterday": today - timedelta(days=1),
        "this week": this_week,
        "last week": this_week - timedelta(days=7),
        "this month": this_month,
        "last month": (this_month - timedelta(days=1)).replace(day=1),
        "this year": today.replace(month=1, day=1),
        "last year": today.replace(year=today.year - 1, month=1, day=1),
    }.get(word)
