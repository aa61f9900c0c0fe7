"""Read the new lines of a growing file since the last read.

A tail never blocks. Read in any number of steps, a file gives the same items as read once; a last line without its
newline is left for the next read. A file that shrank or was replaced is read again from its beginning.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from clew.wire.entry import Item, read

_COMPARED_BYTES = 256  # bytes before the offset that are compared to detect a replaced file


class Tail:
    """Continues reading where it stopped. `number` is the line number at `offset`, for callers that start in the
    middle.
    """

    def __init__(self, path: str | os.PathLike[str], offset: int = 0, number: int = 1) -> None:
        self.path = Path(path)
        self.offset = offset
        self.number = number
        self.restarted = False
        self._before: bytes | None = None if offset else b""
        self._identity: tuple[int, int] | None = None
        self._state: tuple[int, ...] | None = None

    def read(self) -> list[Item]:
        """Return the complete lines since the last read, none if the file vanished; `restarted` is True if the file
        is new.
        """
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
        """Return True if this is the file that was read before and the bytes before the offset are unchanged."""
        if not self.offset:
            return True
        if size < self.offset or self._identity not in (None, identity):
            return False
        start = max(0, self.offset - _COMPARED_BYTES)
        file.seek(start)
        before = file.read(self.offset - start)
        if self._before is None:
            self._before = before
        return before == self._before

    def _advance(self, items: list[Item]) -> None:
        """Move the offset after the items. The bytes kept for comparison are those that were read, not what is there
        now.
        """
        if not items:
            return
        new = b"".join(item.line.tail(_COMPARED_BYTES) for item in items[-_COMPARED_BYTES:])
        self._before = ((self._before or b"") + new)[-_COMPARED_BYTES:]
        last = items[-1].line
        self.offset, self.number = last.end, last.number + last.count


def _state(stat: os.stat_result) -> tuple[int, ...]:
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
