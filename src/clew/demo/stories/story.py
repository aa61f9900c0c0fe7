"""What the stories of the demo share: their sessions, the rhythm of a turn, and a picture to paste."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from clew.demo import identifiers
from clew.demo.talk import Talk, talk

BAKERY = "/home/ada/work/bakery-orders"
DRIP = "/home/ada/src/drip"
PRESS = "/Users/ada/Sites/pressroom"
CLOCK = "C:\\Users\\ada\\source\\repos\\ChessClock"
TIDES = "/srv/data/tide-gauge"


@dataclass(frozen=True, slots=True)
class Story:
    """One session of the demo: its key, how long before now it began, and what tells it."""

    key: str
    ago: timedelta
    tell: Callable[[datetime], Talk]


def session_id(key: str) -> str:
    """The id of a demo session: the same in every tree."""
    return identifiers.uuid("demo", key)


def scene(key: str, cwd: str, begin: datetime, **settings: Any) -> Talk:
    """An empty session of the demo."""
    return talk(session_id(key), cwd=cwd, start=begin, **settings)


def ask(
    told: Talk,
    text: str,
    *,
    tracked: Mapping[str, str | None] | None = None,
    version: int = 1,
    images: Iterable[bytes] = (),
    **fields: Any,
) -> Talk:
    """A prompt, with a snapshot of the tracked files before it."""
    if told.setup.since("2.0.5"):
        told = told.snapshot(tracked, version=version)
    return told.user(text, images=images, **fields)


def close(told: Talk, **gap: float) -> Talk:
    """The end of a turn, with what the version notes there; the pause until the next prompt may be given."""
    if told.setup.since("2.1.1"):
        told = told.turn_duration()
    if told.setup.since("2.1.77"):
        told = told.last_prompt()
    return told.pause(**gap) if gap else told


def picture(width: int, height: int, colour: Callable[[int, int], tuple[int, int, int]]) -> bytes:
    """A PNG of one colour per pixel."""
    rows = b"".join(b"\0" + bytes(value for x in range(width) for value in colour(x, y)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
