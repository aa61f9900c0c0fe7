"""Opening a source: the very file that the scan saw, and no link that took its place since."""

from __future__ import annotations

import os
from io import FileIO
from stat import S_ISREG

from clew.collect.discovery import FileState, SourceFile, state_of
from clew.errors import Stale

File = FileIO

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))


def open_found(root: str, found: SourceFile) -> File:
    """The file, unbuffered. Raises Stale if another one stands there by now."""
    path = os.path.join(root, found.path)
    file = FileIO(os.open(path, _FLAGS), "rb")
    stat = os.fstat(file.fileno())
    if not S_ISREG(stat.st_mode) or state_of(stat)[:2] != found.state[:2]:
        file.close()
        raise Stale(path)
    return file


def state_now(file: File) -> FileState:
    return state_of(os.fstat(file.fileno()))


def read_at(file: File, size: int, at: int) -> bytes:
    """These bytes of a file; fewer only if it ends before."""
    file.seek(at)
    data = file.read(size) or b""
    while 0 < len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data
