"""Tails: the lines that came since last time, of a file that grows.

A tail asks and never waits. Read in any number of goes, a file gives the same items as read once; a last line without its
newline is held back until that has come. A file that shrank or was replaced is read anew from its beginning.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from clew.wire.entry import Item, read

_REACH = 256  # bytes before the offset that are compared to see whether the file is still the same


class Tail:
    """Reads on where it stopped. `number` is that of the line at `offset`, for those who begin in the middle."""

    def __init__(self, path: str | os.PathLike[str], offset: int = 0, number: int = 1) -> None:
        self.path = Path(path)
        self.offset = offset
        self.number = number
        self.restarted = False
        self._before: bytes | None = None if offset else b""
        self._identity: tuple[int, int] | None = None
        self._state: tuple[int, ...] | None = None

    def read(self) -> list[Item]:
        """The whole lines since last time; `restarted` says that these begin a new file. A vanished file has none."""
        self.restarted = False
        try:
            if self._state == _state(self.path.stat()):
                return []
            with open(self.path, "rb") as file:
                return self._read(file)
        except FileNotFoundError:
            self._state = None
            return []

    def _read(self, file: BinaryIO) -> list[Item]:
        stat = os.fstat(file.fileno())
        identity = (stat.st_dev, stat.st_ino)
        if not self._continues(file, stat.st_size, identity):
            self.offset, self.number, self._before = 0, 1, b""
            self.restarted = True
        self._identity = identity
        items = list(read(file, offset=self.offset, number=self.number, finished=True))
        self._state = _state(stat)
        self._advance(items)
        return items

    def _continues(self, file: BinaryIO, size: int, identity: tuple[int, int]) -> bool:
        """Whether this is the file that was read before, with what was read of it still in its place."""
        if not self.offset:
            return True
        if size < self.offset or self._identity not in (None, identity):
            return False
        start = max(0, self.offset - _REACH)
        file.seek(start)
        found = file.read(self.offset - start)
        if self._before is None:
            self._before = found
        return found == self._before

    def _advance(self, items: list[Item]) -> None:
        """Move behind what was read; the bytes kept are those that were read, not what may stand there by now."""
        if not items:
            return
        new = b"".join(item.line.tail(_REACH) for item in items[-_REACH:])
        self._before = ((self._before or b"") + new)[-_REACH:]
        last = items[-1].line
        self.offset, self.number = last.end, last.number + last.count


def _state(stat: os.stat_result) -> tuple[int, ...]:
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
