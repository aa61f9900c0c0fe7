"""Plain text: what may reach a terminal, and numbers in few letters."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import accumulate
from unicodedata import combining, east_asian_width

from clew.system.control_characters import clean

__all__ = ["ago", "clean", "columns", "duration", "one_line", "size", "tokens"]


def one_line(text: str, width: int = 0) -> str:
    """Clean text on one line, cut to a width in columns."""
    flat = " ".join(clean(text).split())
    if not width or columns(flat) <= width:
        return flat
    room = width - 1 if flat.isascii() else sum(used < width for used in accumulate(map(columns, flat)))
    return flat[: max(1, room)].rstrip() + "…"


def columns(text: str) -> int:
    """How wide a text is on a terminal: letters of the East take two columns, marks on a letter none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def ago(then: datetime | None, now: datetime | None = None) -> str:
    """How long ago, in few letters."""
    if then is None:
        return "?"
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < 60:
        return "now"
    for length, unit in ((31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3600, "h")):
        if seconds >= length * (2 if unit in ("mo", "w") else 1):
            return f"{int(seconds // length)}{unit}"
    return f"{int(seconds // 60)}m"


def size(count: int) -> str:
    """Bytes in few letters."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def tokens(count: int) -> str:
    """A number of tokens in few letters."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"
