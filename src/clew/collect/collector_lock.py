"""A lock file that allows one collector at a time per archive."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from clew.collect.archive.archive_schema import create_private
from clew.errors import Busy
from clew.system.file_lock import lock_exclusively
from clew.wire.timestamps import format_timestamp


@contextmanager
def hold_lock(path: str) -> Iterator[None]:
    """Hold a lock file. Raises Busy if another process holds it; the lock of a dead process is released by the
    system.
    """
    create_private(path)
    with open(path, "r+b") as file:
        try:
            lock_exclusively(file.fileno())
        except OSError:
            raise _busy_error(path, file.read(200)) from None
        file.truncate(0)
        file.write(f"{os.getpid()} {format_timestamp(datetime.now(UTC))}".encode())
        file.flush()
        yield


def _busy_error(path: str, lock_text: bytes) -> Busy:
    pid, _, since = lock_text.decode("ascii", "replace").partition(" ")
    return Busy(
        path,
        since,
        hint=(
            f"Another collector{f' (process {pid})' if pid.isdigit() else ''} is running and collects the same files."
        ),
    )
