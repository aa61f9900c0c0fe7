"""Write frames as an asciicast (version 2: a header, then events), for asciinema and its players."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from clew.system.terminal_style import TerminalStyle
from clew.view.playback.frames import Frame
from clew.view.row_terminal import render_row
from clew.view.sanitize import one_line
from clew.wire.json_codec import encode

WIDTH, HEIGHT = 100, 30
_STYLE = TerminalStyle(256)  # whoever plays it has a ground of their own
_FINAL_PAUSE = 2.0  # seconds that the last screen stays visible


def asciicast_lines(
    frames: Iterable[Frame], title: str, started: datetime | None, width: int = WIDTH, height: int = HEIGHT
) -> Iterator[bytes]:
    """Yield the lines of an asciicast. Each turn has a marker."""
    head = {"version": 2, "width": width, "height": height}
    if started is not None:
        head["timestamp"] = int(started.timestamp())
    yield _line(head | {"title": one_line(title), "env": {"TERM": "xterm-256color"}})
    turn, time = 0, 0.0
    for frame in frames:
        time = frame.at
        if frame.turn != turn:
            turn = frame.turn
            yield _line([time, "m", one_line(f"{turn} {frame.row.text}", 60)])
        text = render_row(frame.row, width, _STYLE).replace("\n", "\r\n")
        if text:
            yield _line([time, "o", text])
    yield _line([round(time + _FINAL_PAUSE, 3), "o", "\x1b[0m"])


def _line(value: object) -> bytes:
    return encode(value) + b"\n"
