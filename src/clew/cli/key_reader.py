"""Keys: what is pressed in a terminal, one key at a time, while something else goes on."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_NAMES = {
    "\n": "enter",
    "\r": "enter",
    "\x1b": "escape",
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
}

Read = Callable[[float | None], list[str]]


@contextmanager
def keys() -> Iterator[Read]:
    """A function that waits so many seconds for keys (None: until there is one) and gives their names."""
    if sys.platform == "win32":
        yield _read_windows
        return
    import termios
    import tty

    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        tty.setcbreak(file)
        yield lambda seconds: _read(file, seconds)
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def _read(file: int, seconds: float | None) -> list[str]:
    if not select.select([file], [], [], seconds)[0]:
        return []
    raw = os.read(file, 64)
    if not raw:  # nobody is there any more
        return ["q"]
    return names(raw.decode("utf-8", "replace"))


def names(text: str) -> list[str]:
    """The keys in what a terminal sent."""
    if text in _NAMES:
        return [_NAMES[text]]
    if text.startswith("\x1b"):
        return []
    return [_NAMES.get(letter, letter) for letter in text]


def _read_windows(seconds: float | None) -> list[str]:
    import time

    if sys.platform != "win32":
        return []
    import msvcrt

    until = time.monotonic() + seconds if seconds is not None else None
    while not msvcrt.kbhit():
        if until is not None and time.monotonic() >= until:
            return []
        time.sleep(0.02)
    return names(msvcrt.getwch())
