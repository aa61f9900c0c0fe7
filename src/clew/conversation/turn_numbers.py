"""Turn ranges as users write them: `3`, `3-7`, `3-`, `-1`."""

from __future__ import annotations

import re

_RANGE = re.compile(r"\s*(-?\d+)(?:\s*(-)\s*(-?\d+)?)?\s*")


class TurnRange:
    """The first and last turn of a range. Negative numbers count from the end, as in Python: -1 is the last turn."""

    __slots__ = ("first", "last", "text")

    def __init__(self, text: str) -> None:
        """Parse a range. Raises ValueError for text that is not one.

        `3` is one turn, `3-7` the turns from 3 to 7, `3-` those from 3 on, `-1` the last turn, `-3-` the last three,
        and `2--2` those from 2 to the last but one.
        """
        match = _RANGE.fullmatch(text)
        if match is None:
            raise ValueError(f"Invalid turn range {text!r}: write 3, 3-7, 3- or -1")
        self.text = text.strip()
        self.first = int(match[1])
        self.last = self.first if match[2] is None else -1 if match[3] is None else int(match[3])

    def resolve(self, count: int) -> range:
        """Return the numbers of the turns, in a conversation with `count` turns. They may exceed it: `9` stays 9."""
        first, last = (number + count + 1 if number < 0 else number for number in (self.first, self.last))
        return range(first, last + 1)

    def __str__(self) -> str:
        return self.text
