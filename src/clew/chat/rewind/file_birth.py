"""Read the birth time of a file. A moved file keeps it; a copy does not."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import lru_cache
from typing import Any

_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_STATX_BTIME = 0x800
_SIZE = 256  # bytes of struct statx
_MASK_AT, _BTIME_AT = 0, 80  # stx_mask, and stx_btime (seconds and nanoseconds)


def birth_time(path: str) -> float | None:
    """Return when a file was created, in seconds; None if the system does not record it."""
    statx = _statx()
    if statx is None:
        try:
            born = getattr(os.lstat(path), "st_birthtime", None)
        except OSError:
            return None
        return float(born) if born is not None else None
    buffer = ctypes.create_string_buffer(_SIZE)
    if statx(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, buffer):
        return None
    mask = int.from_bytes(buffer.raw[_MASK_AT : _MASK_AT + 4], sys.byteorder)
    if not mask & _STATX_BTIME:
        return None
    seconds = int.from_bytes(buffer.raw[_BTIME_AT : _BTIME_AT + 8], sys.byteorder, signed=True)
    nanoseconds = int.from_bytes(buffer.raw[_BTIME_AT + 8 : _BTIME_AT + 12], sys.byteorder)
    return seconds + nanoseconds / 1e9


@lru_cache(maxsize=1)
def _statx() -> Any:
    """Return the statx function of the C library; None if it is missing."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
