"""Create a temporary folder that is removed afterwards, by the next run if this process is killed.

A lock on a file inside the folder shows that it is in use. The lock ends with the process and its workers, also if they
are killed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR

from clew.system.file_lock import lock_exclusively

_LOCK = ".lock"
_MAX_AGE = 86_400  # seconds after which a folder without a lock file is not one that is being created


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Create a folder that only this user can read; the prefix names what it is for.

    Folders with the same prefix whose processes have ended are removed before.
    """
    for name in os.listdir(tempfile.gettempdir()):
        if name.startswith(prefix):
            _remove_abandoned(Path(tempfile.gettempdir(), name))
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock_exclusively(lock)
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder of this user, unless a process uses it."""
    try:
        status = folder.lstat()
        if not S_ISDIR(status.st_mode) or status.st_uid != getattr(os, "getuid", lambda: 0)():
            return
        if not (folder / _LOCK).exists():
            if time.time() - status.st_mtime > _MAX_AGE:
                shutil.rmtree(folder, ignore_errors=True)
            return
        lock = os.open(folder / _LOCK, os.O_RDWR)
        try:
            lock_exclusively(lock)
        finally:
            os.close(lock)
    except OSError:  # in use, or removed meanwhile
        return
    shutil.rmtree(folder, ignore_errors=True)
