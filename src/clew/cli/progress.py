"""Progress lines on a terminal: the only code of the commands that draws them."""

from __future__ import annotations

import sys
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeVar

    Item = TypeVar("Item")

_ERASE = "\r\x1b[K"
_WIDTH = 30  # cells of a bar
_PAUSE = 0.1  # seconds between two drawings


def bar(share: float) -> str:
    """Return a bar for a share from 0 to 1, with the percentage: `███░░░  50%`."""
    return f"{'█' * int(_WIDTH * share):░<{_WIDTH}} {share:4.0%}"


class ProgressLine:
    """A line on stderr that is drawn over itself. It draws nothing where stderr is not a terminal, or if `quiet`."""

    def __init__(self, delay: float = 0.0, *, quiet: bool = False) -> None:
        """Draw nothing in the first `delay` seconds."""
        self._next = monotonic() + delay
        self._is_visible = not quiet and sys.stderr.isatty()
        self._is_drawn = False

    def show(self, text: str) -> None:
        """Replace the line with this text."""
        now = monotonic()
        if self._is_visible and now >= self._next:
            self._is_drawn, self._next = True, now + _PAUSE
            print(f"{_ERASE}{text}", end="", file=sys.stderr, flush=True)

    def erase(self) -> None:
        """Erase the line, so that something else can be printed."""
        if self._is_drawn:
            self._is_drawn = False
            print(_ERASE, end="", file=sys.stderr, flush=True)

    def count(self, items: Sequence[Item], noun: str) -> Iterator[Item]:
        """Yield the items, and show how many are done: `3 of 12 sessions`."""
        for number, item in enumerate(items):
            if number:
                self.show(f"{number:,} of {len(items):,} {noun}")
            yield item
        self.erase()


class ProgressBar(ProgressLine):
    """A bar for work whose amount is known: pass `update` as a callback. It is erased when the work is done."""

    def __init__(self, label: str, delay: float = 1.0, *, quiet: bool = False) -> None:
        super().__init__(delay, quiet=quiet)
        self._label = label

    def update(self, done: int, total: int) -> None:
        """Draw that `done` of `total` is done."""
        if done >= total:
            self.erase()
        else:
            self.show(f"{self._label}  {bar(done / total)}")
