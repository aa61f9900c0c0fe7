"""Sanitize text for terminals, and format numbers briefly."""

from __future__ import annotations

from itertools import accumulate
from unicodedata import category, east_asian_width

from clew.system.control_characters import clean
from clew.system.environment import user_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "clean",
    "columns",
    "format_age",
    "format_duration",
    "format_size",
    "format_tokens",
    "one_line",
    "short_path",
]

_COMBINING = ("Mn", "Me", "Cf")  # marks, and joiners and selectors that are not shown


def one_line(text: str, width: int = 0) -> str:
    """Return sanitized text on one line, truncated to a width in columns."""
    flat = " ".join(clean(text).split())
    if not width or columns(flat) <= width:
        return flat
    room = width - 1 if flat.isascii() else sum(used < width for used in accumulate(map(columns, flat)))
    return flat[: max(1, room)].rstrip(" \u200c\u200d") + "…"


def columns(text: str) -> int:
    """Return the width of a text on a terminal: wide East Asian characters and emoji take two columns, marks that
    combine with the character before them none.
    """
    if text.isascii():
        return len(text)
    return sum(0 if category(c) in _COMBINING else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def short_path(path: str) -> str:
    """Return a path with `~` for the home folder; no other absolute path begins with that."""
    home = user_home()
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def format_age(then: datetime | None, now: datetime | None = None) -> str:
    """Return how long ago something was, such as `5m`, `3h` or `2d`."""
    if then is None:
        return "?"
    from datetime import UTC, datetime

    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < 60:
        return "now"
    for length, unit in ((31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3600, "h")):
        if seconds >= length * (2 if unit in ("mo", "w") else 1):
            return f"{int(seconds // length)}{unit}"
    return f"{int(seconds // 60)}m"


def format_size(count: int) -> str:
    """Return a number of bytes with a unit."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def format_tokens(count: int) -> str:
    """Return a number of tokens, such as `950`, `12.3k` or `1.2M`."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def format_duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, left_seconds = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{left_seconds:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"
