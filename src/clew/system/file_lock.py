"""Lock an open file for one process. The lock ends with the process or when the file is closed."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def lock_exclusively(file: int) -> None:
    """Lock a file by its descriptor. Raises OSError if another process has the lock."""
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
