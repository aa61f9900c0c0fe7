"""Instants: the forms of time that the files hold, as aware datetimes in UTC.

An instant is at least a year away from both ends of what `datetime` can hold, so that every time zone can show it and a
few days can be added or taken away. What lies outside is no time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from clew.wire.javascript_dates import parse_date

EARLIEST = datetime(2, 1, 1, tzinfo=UTC)
LATEST = datetime(9998, 12, 31, tzinfo=UTC)


def instant(value: str | int | float | None) -> datetime | None:
    """Parse a text as JavaScript does, or milliseconds since 1970; None for no date and for a time out of range."""
    if value is None or isinstance(value, bool):
        return None
    try:
        found = parse_date(value) if isinstance(value, str) else datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found is not None and EARLIEST <= found <= LATEST else None


def stamp(moment: datetime) -> str:
    """The form that Claude Code writes: UTC with milliseconds and a Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_AGO = re.compile(r"(\d+)\s*(m|min|h|d|w|mo|y)", re.IGNORECASE)
_LENGTH = {"m": 1 / 1440, "min": 1 / 1440, "h": 1 / 24, "d": 1, "w": 7, "mo": 30, "y": 365}


def moment(asked: str | datetime, now: datetime | None = None) -> datetime:
    """A point in time as people write it: `7d`, `2h`, `today`, `yesterday`, `2026-01-31`, or an ISO time.

    Days are those of the local time zone. Raises ValueError with a sentence for what is none of these.
    """
    if isinstance(asked, datetime):
        return asked if asked.tzinfo else asked.astimezone()
    try:
        return _moment(asked.strip(), now or datetime.now(UTC))
    except (ValueError, OverflowError):
        raise ValueError(f"{asked!r} is no time: write 7d, 2h, yesterday, 2026-01-31 or 2026-01-31T12:00") from None


def _moment(asked: str, now: datetime) -> datetime:
    word = asked.lower()
    if word == "now":
        return now
    if found := _AGO.fullmatch(word):
        return now - timedelta(days=int(found[1]) * _LENGTH[found[2]])
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    days = {"today": midnight, "yesterday": midnight - timedelta(days=1)}
    point = days.get(word) or datetime.fromisoformat(asked)
    return point if point.tzinfo else point.astimezone()
