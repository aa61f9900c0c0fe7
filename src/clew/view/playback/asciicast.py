"""Casts: frames as an asciicast, the form that asciinema and its players read (version 2: a header, then events)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from clew.view.playback.frames import Frame
from clew.view.row_terminal import painted
from clew.view.sanitize import one_line
from clew.wire.json_codec import encode

WIDTH, HEIGHT = 100, 30
_LAST = 2.0  # seconds that the end stays on the screen


def cast(
    frames: Iterable[Frame], title: str, started: datetime | None, width: int = WIDTH, height: int = HEIGHT
) -> Iterator[bytes]:
    """The lines of a cast. Each turn has a mark that players can go to."""
    head = {"version": 2, "width": width, "height": height}
    if started is not None:
        head["timestamp"] = int(started.timestamp())
    yield _line(head | {"title": one_line(title), "env": {"TERM": "xterm-256color"}})
    turn, at = 0, 0.0
    for frame in frames:
        at = frame.at
        if frame.turn != turn:
            turn = frame.turn
            yield _line([at, "m", one_line(f"{turn} {frame.row.text}", 60)])
        text = painted(frame.row, width, colour=True).replace("\n", "\r\n")
        if text:
            yield _line([at, "o", text])
    yield _line([round(at + _LAST, 3), "o", "\x1b[0m"])


def _line(value: object) -> bytes:
    return encode(value) + b"\n"
