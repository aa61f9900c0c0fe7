"""The lock: one writer at a time for each session. It is a file beside the session, and it goes with its holder."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from clew.errors import Busy
from clew.wire.json_codec import decode, encode
from clew.wire.timestamps import format_timestamp

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def lock_of(session: Path) -> Path:
    return session.with_suffix(".lock")


@contextmanager
def held(session: Path) -> Iterator[None]:
    """Be the only writer of a session. Raises Busy if another process is; one that died holds nothing."""
    path = lock_of(session)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = _taken(path)
    try:
        told = {"pid": os.getpid(), "started": format_timestamp(datetime.now(UTC)), "host": platform.node()}
        os.ftruncate(file, 0)
        os.write(file, encode(told))
        yield
    finally:
        with suppress(FileNotFoundError, PermissionError):  # Windows keeps the name of an open file
            path.unlink()
        os.close(file)


def _taken(path: Path) -> int:
    """The locked file. One that its holder took away while we waited for it is not the lock any more."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(file)
        except OSError:
            said = os.pread(file, 400, 0) if hasattr(os, "pread") else b""
            os.close(file)
            raise _busy(path, said) from None
        try:
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:
            pass
        os.close(file)


def _lock(file: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _busy(path: Path, said: bytes) -> Busy:
    try:
        told = decode(said)
    except ValueError:
        told = None
    known = told if isinstance(told, dict) else {}
    busy = Busy(str(path.with_suffix(".jsonl")), str(known.get("started") or ""))
    who = f" (process {known['pid']})" if isinstance(known.get("pid"), int) else ""
    busy.hint = f"Another clew writes in it{who}. Go on in a copy with --fork-session, or only read it with: clew show"
    return busy
