"""Plain text: what may reach a terminal, and numbers in few letters."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import accumulate
from unicodedata import combining, east_asian_width

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links, the clipboard; without an end, no more than its line
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")
_SIGNS = bytes(bool(_CONTROLS.match(chr(code))) for code in range(256))


def clean(text: str) -> str:
    """Text that cannot drive a terminal: escape sequences go, other controls and bidi overrides become visible dots."""
    if text.isascii() and b"\1" not in text.encode().translate(_SIGNS):  # most is, and this takes half as long
        return text
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return _CONTROLS.sub("·", text.replace("\r\n", "\n").replace("\r", "\n"))


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
