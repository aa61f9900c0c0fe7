"""Open exactly the file that the scan listed, never a link that replaced it."""

from __future__ import annotations

import os
from io import FileIO
from stat import S_ISREG

from clew.collect.discovery import SourceFile, SourceState, state_of
from clew.errors import Stale

File = FileIO

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))


def open_source(root: str, source: SourceFile) -> File:
    """Open the file unbuffered. Raises Stale if another file has its path now."""
    path = os.path.join(root, source.path)
    file = open_regular(path)
    if state_now(file)[:2] != source.state[:2]:
        file.close()
        raise Stale(path)
    return file


def open_regular(path: str) -> File:
    """Open a file unbuffered. Raises Stale if it is no regular file, and OSError if it is a link."""
    file = FileIO(os.open(path, _FLAGS), "rb")
    if not S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Stale(path)
    return file


def state_now(file: File) -> SourceState:
    return state_of(os.fstat(file.fileno()))


def read_at(file: File, size: int, at: int) -> bytes:
    """Read `size` bytes at an offset; fewer only at the end of the file."""
    file.seek(at)
    data = file.read(size) or b""
    while 0 < len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data
