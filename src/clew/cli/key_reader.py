"""Read single key presses from a terminal while something else runs."""

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

KeyReader = Callable[[float | None], list[str]]


@contextmanager
def read_keys() -> Iterator[KeyReader]:
    """Yield a function that waits for keys, at most the given seconds (None: until there is one), and returns their
    names.
    """
    if sys.platform == "win32":
        yield _read_windows
        return
    import termios
    import tty

    file = sys.stdin.fileno()
    settings = termios.tcgetattr(file)
    try:
        tty.setcbreak(file)
        yield lambda seconds: _read(file, seconds)
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, settings)


def _read(file: int, seconds: float | None) -> list[str]:
    if not select.select([file], [], [], seconds)[0]:
        return []
    raw = os.read(file, 64)
    if not raw:  # end of input
        return ["q"]
    return key_names(raw.decode("utf-8", "replace"))


def key_names(text: str) -> list[str]:
    """Return the names of the keys in the text that a terminal sent."""
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

    deadline = time.monotonic() + seconds if seconds is not None else None
    while not msvcrt.kbhit():
        if deadline is not None and time.monotonic() >= deadline:
            return []
        time.sleep(0.02)
    return key_names(msvcrt.getwch())
