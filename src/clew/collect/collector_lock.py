"""The lock: one collector at a time for each archive."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from clew.collect.archive.archive_schema import make_private
from clew.errors import Busy
from clew.wire.timestamps import stamp

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Hold the lock of an archive. Raises Busy if another process does; a process that died holds nothing."""
    make_private(path)
    with open(path, "r+b") as file:
        try:
            _take(file.fileno())
        except OSError:
            raise _busy(path, file.read(200)) from None
        file.truncate(0)
        file.write(f"{os.getpid()} {stamp(datetime.now(UTC))}".encode())
        file.flush()
        yield


def _take(file: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _busy(path: str, said: bytes) -> Busy:
    pid, _, since = said.decode("ascii", "replace").partition(" ")
    busy = Busy(path, since)
    busy.hint = f"Another collector is at work{f' (process {pid})' if pid.isdigit() else ''}: it collects for you."
    return busy
