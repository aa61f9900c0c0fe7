"""Progress lines on a terminal."""

from __future__ import annotations

import sys
import time

_ERASE = "\r\x1b[K"
_WIDTH = 30  # cells of a bar


def bar(share: float) -> str:
    """A bar for a share from 0 to 1, with the percentage: `███░░░  50%`."""
    return f"{'█' * int(_WIDTH * share):░<{_WIDTH}} {share:4.0%}"


class ProgressLine:
    """A line on stderr that is drawn over itself. It draws nothing where stderr is not a terminal."""

    def __init__(self, delay: float = 0.0) -> None:
        """Draw nothing in the first `delay` seconds."""
        self._start = time.monotonic() + delay
        self._is_terminal = sys.stderr.isatty()
        self._is_drawn = False

    def show(self, text: str) -> None:
        """Replace the line with this text."""
        if self._is_terminal and time.monotonic() >= self._start:
            self._is_drawn = True
            print(f"{_ERASE}{text}", end="", file=sys.stderr, flush=True)

    def erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            print(_ERASE, end="", file=sys.stderr, flush=True)


class ProgressBar(ProgressLine):
    """A bar for work whose amount is known: pass `update` as a callback. It is erased when the work is done."""

    def __init__(self, label: str, delay: float = 1.0) -> None:
        super().__init__(delay)
        self._label = label

    def update(self, done: int, total: int) -> None:
        if done >= total:
            self.erase()
        else:
            self.show(f"{self._label}  {bar(min(1.0, done / total))}")
