"""Writing: whole lines behind a session file, or a new file that appears whole. Never over a session.

The last line can be removed again as long as nothing follows it.

This is the only code of the package that opens a session for writing. On Windows appending is not atomic,
since the system has no such write; everything else holds there too.
"""

from __future__ import annotations

import errno
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.errors import Refused
from clew.wire.json_codec import encode

if sys.platform != "win32":
    import fcntl

Writable = dict[str, Any] | bytes  # an entry, or the exact bytes of one line

_BINARY = getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 20
_DRAFT = ".draft"
_NO_LINKS = {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def append(path: str | os.PathLike[str], values: Iterable[Writable], *, sync: bool = False) -> int:
    """Add entries to a file that exists, in one write; a torn last line is ended first. The bytes written."""
    batch = b"".join(map(_line, values))
    file = os.open(path, os.O_RDWR | os.O_APPEND | _BINARY)
    try:
        if not batch:
            return 0
        with _alone(file):
            if _is_torn(file):
                batch = b"\n" + batch
            _write(file, batch)
            if sync:
                os.fsync(file)
    finally:
        os.close(file)
    return len(batch)


def remove_last(path: str | os.PathLike[str], size: int, value: Writable) -> bool:
    """Restore a file to the size it had before `append` added an entry; False if anything else follows that size."""
    added = _line(value)
    file = os.open(path, os.O_RDWR | _BINARY)
    try:
        with _alone(file):
            os.lseek(file, size, os.SEEK_SET)
            rest = os.read(file, len(added) + 2)
            if rest not in (added, b"\n" + added):
                return False
            os.ftruncate(file, size)
            os.fsync(file)
    finally:
        os.close(file)
    return True


def create(path: str | os.PathLike[str], lines: Iterable[Writable], *, sync: bool = True) -> Path:
    """Make a new file of these lines. It is there whole or not at all; one that exists is never replaced."""
    return place(path, map(_line, lines), sync=sync)


def place(path: str | os.PathLike[str], parts: Iterable[bytes], *, sync: bool = True) -> Path:
    """Make a new file of exactly these bytes, on the same terms."""
    target = Path(path)
    _make_parents(target.parent, sync)
    _refuse_existing(target)
    with _draft(target, parts, sync) as draft:
        _settle(draft, target)
        if sync:
            _sync_folder(target.parent)
    return target


def create_exactly(path: str | os.PathLike[str], parts: Iterable[bytes], *, mtime_ns: int | None = None) -> Path:
    """Make a new file of exactly these bytes, with an old time if one is given; one that exists is never replaced."""
    target = Path(path)
    _make_parents(target.parent, True)
    _refuse_existing(target)
    with _draft(target, parts, True) as draft:
        if mtime_ns is not None:
            os.utime(draft, ns=(mtime_ns, mtime_ns))
        _settle(draft, target)
        _sync_folder(target.parent)
    return target


def replace(path: str | os.PathLike[str], data: bytes) -> None:
    """Put a side file in the place of the old one, atomically. A session file is refused."""
    target = Path(path)
    if target.suffix.lower() == ".jsonl":
        raise Refused([f"{target.name} may be a session, and sessions are never written over"])
    with _draft(target, (data,), True) as draft:
        draft.replace(target)
        _sync_folder(target.parent)


def back_up(path: str | os.PathLike[str]) -> Path | None:
    """Keep a side file as it is now under the next free `<name>.bak-<n>`; None if there is none to keep."""
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
                _settle(draft, target)
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
        raise TypeError(f"an entry is a dict or bytes, not {type(value).__name__}")
    if b"\n" in raw:
        raise ValueError("a line holds no newline but its last byte")
    return raw + b"\n"


def _is_torn(file: int) -> bool:
    if os.lseek(file, 0, os.SEEK_END) == 0:
        return False
    os.lseek(file, -1, os.SEEK_END)
    return os.read(file, 1) != b"\n"


def _write(file: int, data: bytes) -> None:
    """One write; only if the system took less than all of it, another one for the remainder."""
    done = os.write(file, data)
    while done < len(data):
        done += os.write(file, memoryview(data)[done:])


@contextmanager
def _alone(file: int) -> Iterator[None]:
    """Keep other writers of this package waiting: a line being written must not be taken for a torn one."""
    if sys.platform == "win32":
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
    yield  # closing the descriptor lets go


# -- whole files


@contextmanager
def _draft(target: Path, parts: Iterable[bytes], sync: bool) -> Iterator[Path]:
    """The content under a name of its own beside the target, gone afterwards if it was not moved."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}{_DRAFT}")
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


def drafts_of(path: Path) -> list[Path]:
    """What a writing that was killed left beside the file it was to make."""
    start = f".{path.name}."
    found = path.parent.iterdir() if path.parent.is_dir() else ()
    return sorted(p for p in found if p.name.startswith(start) and p.name.endswith(_DRAFT))


def _chunks(parts: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= _CHUNK:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


def _settle(draft: Path, target: Path) -> None:
    """Give the draft its name unless that is taken; `rename` would replace, a hard link does not."""
    if sys.platform == "win32":
        draft.rename(target)  # refuses a name that is taken, there
        return
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _settle_without_links(draft, target)


def _settle_without_links(draft: Path, target: Path) -> None:
    """Take the name with an empty file, then rename over that: the most that is possible without links."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    draft.replace(target)


def _make_parents(folder: Path, sync: bool) -> None:
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
            _sync_folder(new.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder outlive a power cut, where the system can be asked to."""
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
