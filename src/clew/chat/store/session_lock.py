"""Lock a session file for one writer. The lock is a file next to the session, released when its process ends."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from clew.errors import Busy
from clew.system.file_lock import lock_exclusively
from clew.wire.json_codec import decode, encode
from clew.wire.timestamps import format_timestamp


def lock_path(session: Path) -> Path:
    return session.with_suffix(".lock")


@contextmanager
def lock_session(session: Path) -> Iterator[None]:
    """Be the only writer of a session. Raises Busy if another process is; a dead process holds no lock."""
    path = lock_path(session)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = _acquire(path)
    try:
        holder = {"pid": os.getpid(), "started": format_timestamp(datetime.now(UTC)), "host": platform.node()}
        os.ftruncate(file, 0)
        os.write(file, encode(holder))
        yield
    finally:
        with suppress(FileNotFoundError, PermissionError):  # Windows keeps the name of an open file
            path.unlink()
        os.close(file)


def _acquire(path: Path) -> int:
    """Open and lock the file. Retry if the holder removed it meanwhile, because then another file is the lock."""
    # Another process may remove the file between our open and our lock: then we hold the lock of a file without a
    # name, and a third process could lock the new file of that name.
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_exclusively(file)
        except OSError:
            holder = os.pread(file, 400, 0) if hasattr(os, "pread") else b""
            os.close(file)
            raise _busy(path, holder) from None
        try:
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:
            pass
        os.close(file)


def _busy(path: Path, raw: bytes) -> Busy:
    try:
        holder = decode(raw)
    except ValueError:
        holder = None
    fields = holder if isinstance(holder, dict) else {}
    who = f" (process {fields['pid']})" if isinstance(fields.get("pid"), int) else ""
    hint = (
        f"Another clew process is writing it{who}. Continue in a copy with --fork-session, or read it with: clew show"
    )
    return Busy(str(path.with_suffix(".jsonl")), str(fields.get("started") or ""), hint=hint)
