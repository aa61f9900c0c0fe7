"""Convert the timestamps in session files, and times typed by users, to aware datetimes in UTC.

Every instant is at least a year away from both ends of the range of `datetime`, so that every time zone can show it
and a few days can be added or subtracted. A time outside that range is treated as missing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta

EARLIEST = datetime(2, 1, 1, tzinfo=UTC)
LATEST = datetime(9998, 12, 31, tzinfo=UTC)


def parse_timestamp(value: str | int | float | None) -> datetime | None:
    """Parse a text as JavaScript does, or milliseconds since 1970; None if it is not a date or out of range."""
    if value is None or isinstance(value, bool):
        return None
    try:
        time = _parse_text(value) if isinstance(value, str) else datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return time if time is not None and EARLIEST <= time <= LATEST else None


def _parse_text(text: str) -> datetime | None:
    if len(text) == 24 and text[4::3].startswith("--T::.") and text[23] == "Z":  # the form that Claude Code writes
        with suppress(ValueError):  # for example 30 February, which JavaScript accepts
            return datetime.fromisoformat(text)
    from clew.wire.javascript_dates import parse_date  # few files need it, and it takes long to import

    return parse_date(text)


def format_timestamp(moment: datetime) -> str:
    """Format a time as Claude Code does: UTC with milliseconds and a Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_AGO = re.compile(r"(\d+)\s*(m|min|h|d|w|mo|y)", re.IGNORECASE)
_LENGTH = {"m": 1 / 1440, "min": 1 / 1440, "h": 1 / 24, "d": 1, "w": 7, "mo": 30, "y": 365}


def parse_user_time(text: str | datetime, now: datetime | None = None) -> datetime:
    """Parse a point in time as users write it: `7d`, `2h`, `today`, `yesterday`, `2026-01-31`, or an ISO time.

    Days are those of the local time zone. Raises ValueError with a full sentence for anything else.
    """
    if isinstance(text, datetime):
        return text if text.tzinfo else text.astimezone()
    try:
        return _parse_user_time(text.strip(), now or datetime.now(UTC))
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time: write 7d, 2h, yesterday, 2026-01-31 or 2026-01-31T12:00") from None


def _parse_user_time(text: str, now: datetime) -> datetime:
    word = text.lower()
    if word == "now":
        return now
    if match := _AGO.fullmatch(word):
        return now - timedelta(days=int(match[1]) * _LENGTH[match[2]])
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    days = {"today": midnight, "yesterday": midnight - timedelta(days=1)}
    point = days.get(word) or datetime.fromisoformat(text)
    return point if point.tzinfo else point.astimezone()
