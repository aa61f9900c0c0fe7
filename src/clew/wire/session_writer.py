"""Append lines to session files, or create new files atomically; never overwrite a session.

The last line can be removed again as long as nothing follows it.

This is the only code of the package that opens a session for writing. On Windows appending is not atomic, since the
system has no such write; all other guarantees hold there too.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from clew.errors import Refused
from clew.wire.json_codec import encode
from clew.wire.tree_walk import is_uuid

if sys.platform != "win32":
    import fcntl

Writable = dict[str, Any] | bytes  # an entry, or the exact bytes of one line

_BINARY = getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 16  # bytes that are written at once, and that fit into the CPU cache
_DRAFT = ".draft"
_NO_LINKS = {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def append(path: str | os.PathLike[str], values: Iterable[Writable], *, sync: bool = False) -> int:
    """Append entries to an existing file with one write; a torn last line is terminated first. Return the bytes
    written.
    """
    batch = b"".join(map(_line, values))
    file = os.open(path, os.O_RDWR | os.O_APPEND | _BINARY)
    try:
        if not batch:
            return 0
        with _exclusive_lock(file):
            if _is_torn(file):
                batch = b"\n" + batch
            _write(file, batch)
            if sync:
                os.fsync(file)
    finally:
        os.close(file)
    return len(batch)


def undo_append(path: str | os.PathLike[str], size: int, value: Writable) -> bool:
    """Truncate a file to the size it had before `append` added an entry; False if anything else follows that size."""
    added = _line(value)

    def is_last(file: int) -> bool:
        os.lseek(file, size, os.SEEK_SET)
        return os.read(file, len(added) + 2) in (added, b"\n" + added)

    return _truncate_if(path, size, is_last)


def truncate(path: str | os.PathLike[str], size: int, current: int) -> bool:
    """Cut a file back to a size that it had before lines were appended; False if it is not of the `current` size."""
    return _truncate_if(path, size, lambda file: os.fstat(file).st_size == current)


def _truncate_if(path: str | os.PathLike[str], size: int, is_expected: Callable[[int], bool]) -> bool:
    """Truncate a locked file if it is as expected; return whether it was."""
    file = os.open(path, os.O_RDWR | _BINARY)
    try:
        with _exclusive_lock(file):
            if not is_expected(file):
                return False
            os.ftruncate(file, size)
            os.fsync(file)
    finally:
        os.close(file)
    return True


def create(path: str | os.PathLike[str], lines: Iterable[Writable], *, sync: bool = True) -> Path:
    """Create a new file of these lines. It appears complete or not at all; an existing file is never replaced."""
    return create_exactly(path, map(_line, lines), sync=sync)


def create_exactly(
    path: str | os.PathLike[str],
    parts: Iterable[bytes],
    *,
    sync: bool = True,
    sync_name: bool = True,
    mtime_ns: int | None = None,
    mode: int | None = None,
) -> Path:
    """Create a new file of exactly these bytes, like `create`, with a modification time and a mode.

    Without `sync_name` a power cut can lose the name until `sync_folder` is called, once for many files.
    """
    target = Path(path)
    _create_parents(target.parent, sync)
    _refuse_existing(target)
    with _draft(target, parts, sync) as draft:
        if mtime_ns is not None:
            os.utime(draft, ns=(mtime_ns, mtime_ns))
        if mode is not None:
            draft.chmod(mode)
        _publish(draft, target)
        if sync and sync_name:
            sync_folder(target.parent)
    return target


def replace(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace a side file atomically. Raises Refused for a session file."""
    target = Path(path)
    if target.suffix.lower() == ".jsonl":
        raise Refused([f"{target.name} can be a session, and sessions are never overwritten"])
    with _draft(target, (data,), True) as draft:
        draft.replace(target)
        sync_folder(target.parent)


def append_exactly(path: str | os.PathLike[str], data: bytes) -> None:
    """Append bytes to an existing file with one write."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | _BINARY)
    try:
        with _exclusive_lock(file):
            _write(file, data)
            os.fsync(file)
    finally:
        os.close(file)


def replace_shared(path: str | os.PathLike[str], parts: Iterable[bytes], old: BinaryIO) -> None:
    """Replace a file that other programs append to, such as `history.jsonl`; never a session.

    `old` is the open old file, read to the point that `parts` cover. What is added to it until the new file is in
    place is appended to the new one.
    """
    target = Path(path)
    if is_uuid(target.stem):
        raise Refused([f"{target.name} is a session, and sessions are never overwritten"])
    with _draft(target, parts, True) as draft:
        draft.chmod(target.stat().st_mode & 0o777)
        draft.replace(target)
        sync_folder(target.parent)
    if added := old.read():
        append_exactly(target, added)


def back_up(path: str | os.PathLike[str]) -> Path | None:
    """Copy a side file to the next free `<name>.bak-<n>`; None if the file does not exist."""
    source = Path(path)
    try:
        data = source.read_bytes()
    except FileNotFoundError:
        return None
    number = 1
    while True:
        target = source.with_name(f"{source.name}.bak-{number}")
        try:
            _refuse_existing(target)
            with _draft(target, (data,), True) as draft:
                _publish(draft, target)
                return target
        except FileExistsError:
            number += 1


# -- lines


def _line(value: Writable) -> bytes:
    if isinstance(value, bytes):
        raw = value.removesuffix(b"\n")
    elif isinstance(value, dict):
        raw = encode(value)
    else:
        raise TypeError(f"expected an entry as dict or bytes, not {type(value).__name__}")
    if b"\n" in raw:
        raise ValueError("a line can contain a newline only as its last byte")
    return raw + b"\n"


def _is_torn(file: int) -> bool:
    if os.lseek(file, 0, os.SEEK_END) == 0:
        return False
    os.lseek(file, -1, os.SEEK_END)
    return os.read(file, 1) != b"\n"


def _write(file: int, data: bytes) -> None:
    """Write with one call; another one follows only if the system wrote less than all of it."""
    done = os.write(file, data)
    while done < len(data):
        done += os.write(file, memoryview(data)[done:])


@contextmanager
def _exclusive_lock(file: int) -> Iterator[None]:
    """Block other writers of this package: a line being written must not be mistaken for a torn one."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
    yield  # closing the descriptor releases the lock


# -- complete files


@contextmanager
def _draft(target: Path, parts: Iterable[bytes], sync: bool) -> Iterator[Path]:
    """Write the content to a temporary file next to the target; it is removed afterwards if it was not moved."""
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}{_DRAFT}")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
    try:
        try:
            for chunk in _chunks(parts):
                _write(file, chunk)
            if sync:
                os.fsync(file)
        finally:
            os.close(file)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def find_leftover_drafts(path: Path) -> list[Path]:
    """Return the temporary files that a killed writer left next to a file."""
    start = f".{path.name}."
    siblings = path.parent.iterdir() if path.parent.is_dir() else ()
    return sorted(p for p in siblings if p.name.startswith(start) and p.name.endswith(_DRAFT))


def _chunks(parts: Iterable[bytes]) -> Iterator[bytes]:
    buffered: list[bytes] = []
    size = 0
    for part in parts:
        buffered.append(part)
        size += len(part)
        if size >= _CHUNK:
            yield b"".join(buffered)
            buffered, size = [], 0
    if buffered:
        yield b"".join(buffered)


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


def _publish(draft: Path, target: Path) -> None:
    """Give the draft its final name unless that exists; `rename` would replace the file, a hard link does not."""
    if sys.platform == "win32":
        draft.rename(target)  # on Windows, this refuses an existing name
        return
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _publish_without_links(draft, target)


def _publish_without_links(draft: Path, target: Path) -> None:
    """Reserve the name with an empty file, then rename over it: the best possible without hard links."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    draft.replace(target)


def _create_parents(folder: Path, sync: bool) -> None:
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        if folder.parent == folder:
            break
        folder = folder.parent
    for new in reversed(missing):
        try:
            new.mkdir(0o700)
        except FileExistsError:
            if not new.is_dir():
                raise
        if sync:
            sync_folder(new.parent)


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a power cut, where the system supports it."""
    if sys.platform == "win32":
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(file)
