"""Compare texts line by line like difflib, but give up where that would take long."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import Match, SequenceMatcher


class TooManyStepsError(Exception):
    """A comparison would take longer than it may."""


class BoundedMatcher(SequenceMatcher[str]):
    """Finds what difflib finds. It looks at most at `steps` lines.

    difflib looks for the longest equal part, then on both sides of it. If every second line changed, there is nothing
    before the first equal line, so that nearly everything is looked at again for each of them.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str], steps: int) -> None:
        super().__init__(None, old, new)
        self._steps = steps
        self._size = len(old)

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        self._steps -= (self._size if ahi is None else ahi) - alo
        if self._steps < 0:
            raise TooManyStepsError
        return super().find_longest_match(alo, ahi, blo, bhi)
