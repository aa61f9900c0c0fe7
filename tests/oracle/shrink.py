"""Make a file that shows something as small as possible: fewer lines, then fewer blocks and fields."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

NEEDED = {"type", "uuid", "parentUuid", "timestamp", "message", "role", "content", "id"}


def smallest(
    lines: Sequence[bytes], differs: Callable[[list[bytes]], bool], *, tries: int = 120, seconds: float = 300
) -> list[bytes]:
    """The fewest and shortest lines that still differ, within a number of tries and a time."""
    search = _Search([*lines], differs, tries, time.monotonic() + seconds)
    size = len(lines) // 2
    while size > 1:
        search.leave_out(size)
        size //= 2
    while search.leave_out(1) or search.shorten():
        continue
    return search.found


@dataclass
class _Search:
    """What is left of the lines, and how much may still be tried."""

    found: list[bytes]
    differs: Callable[[list[bytes]], bool]
    tries: int
    deadline: float

    def leave_out(self, size: int) -> bool:
        """Try the lines without each run of so many of them, the last ones first; whether any run was not needed."""
        before = len(self.found)
        for at in range(before - size, -size, -size):
            self._take([*self.found[: max(at, 0)], *self.found[at + size :]])
        return len(self.found) < before

    def shorten(self) -> bool:
        """Try each line with less in it; whether any could be shortened."""
        before = sum(map(len, self.found))
        for at in range(len(self.found)):
            while any(self._take([*self.found[:at], line, *self.found[at + 1 :]]) for line in _shorter(self.found[at])):
                continue
        return sum(map(len, self.found)) < before

    def _take(self, candidate: list[bytes]) -> bool:
        """Go on with a candidate if it still differs."""
        if not candidate or self.tries <= 0 or time.monotonic() > self.deadline:
            return False
        self.tries -= 1
        if self.differs(candidate):
            self.found = candidate
            return True
        return False


def _shorter(line: bytes) -> Iterator[bytes]:
    try:
        entry = json.loads(line)
    except ValueError:
        return
    if not isinstance(entry, dict):
        return
    bare = {key: value for key, value in entry.items() if key in NEEDED}
    if len(bare) < len(entry):
        yield _line(bare)
        yield from (_line({k: v for k, v in entry.items() if k != key}) for key in entry if key not in NEEDED)
    message = entry.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    if isinstance(message, dict) and isinstance(blocks, list) and len(blocks) > 1:
        for at in range(len(blocks)):
            yield _line({**entry, "message": {**message, "content": [*blocks[:at], *blocks[at + 1 :]]}})


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"
