"""Read the parameters of an address: values that cannot be understood count as missing."""

from __future__ import annotations

from datetime import UTC, datetime


def parse_number(text: str) -> int:
    """Return a whole number; 0 if the text is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def as_time(seconds: float) -> datetime | None:
    """Return a number of seconds since 1970 as a time; None for 0."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
