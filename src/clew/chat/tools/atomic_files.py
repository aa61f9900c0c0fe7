"""Files of the person's, and scratch files of commands: the one place where tools write to disk.

A file changes in one step: a draft beside it is written, made durable and renamed over it. Its mode and, where that is
allowed, its owner stay, and a link that leads to it stays a link. Another hard link to it keeps the old content.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from clew.chat.tools.path_arguments import told, writable
from clew.chat.tools.tool import Seen, ToolContext, ToolFailed

LARGEST = 16 << 20  # bytes of a file that is edited: all of it becomes part of the session
MOST_KEPT = 256 << 20  # bytes of the output of a command
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Content(Struct, frozen=True):
    """A file's bytes and what is remembered of it."""

    data: bytes
    seen: Seen


def digest(data: bytes) -> str:
    """What tells two contents apart."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def regular(path: Path) -> Iterator[int]:
    """A plain file opened for reading. What could block, never end or tell of this process is refused."""
    real = os.path.realpath(path)
    if real == "/proc" or real.startswith("/proc/"):
        raise ToolFailed(f"{path} is a file of the system's own, which Read does not open. Use Bash to look at it.")
    try:
        file = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise _special(path) from None
        raise
    try:
        kind = os.fstat(file).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(kind):
            raise _special(path)
        yield file
    finally:
        os.close(file)


def _special(path: Path) -> ToolFailed:
    return ToolFailed(f"{path} is a pipe, a socket or a device, not a file that can be read.")


def content(path: Path, largest: int = LARGEST) -> Content:
    """A whole file; `Failed` if it is larger than that."""
    with regular(path) as file:
        facts = os.fstat(file)
        parts, size = [], 0
        while part := os.read(file, 1 << 20):
            parts.append(part)
            size += len(part)
            if size > largest:
                raise ToolFailed(
                    f"{path} has more than {largest >> 20} MB, which is too large to change with this tool."
                )
    data = b"".join(parts)
    return Content(data, Seen(facts.st_mtime_ns, digest(data)))


def put(path: Path, data: bytes, scene: ToolContext) -> Seen:
    """Put a file in place, new or over the old one, and note it as seen."""
    target = writable(path, scene.state)
    scene.before_change(target)
    try:
        mtime = _replaced(target, data)
    except OSError as error:
        raise told(error, path, "open") from error
    seen = Seen(mtime, digest(data))
    scene.state.seen[target] = seen
    return seen


def _replaced(target: Path, data: bytes) -> int:
    """Write a draft and rename it over the target. When it was changed."""
    folder = _folder(target.parent)
    draft = f".clew-{secrets.token_hex(6)}"
    try:
        old = _present(target.name, folder)
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666, dir_fd=folder)
        try:
            try:
                _fill(file, data, old)
                mtime = os.fstat(file).st_mtime_ns
            finally:
                os.close(file)
            os.replace(draft, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(draft, dir_fd=folder)
            raise
        _settle(folder)
        return mtime
    finally:
        os.close(folder)


def put_back(target: Path, data: bytes, mode: int, *, is_link: bool = False) -> None:
    """Put a file or a link in place again, over whatever file or link stands there; none on the way is followed."""
    clear(target)
    folder = _folder(target.parent)
    draft = _draft_of(target)
    try:
        try:
            if is_link:
                os.symlink(os.fsdecode(data), draft, dir_fd=folder)
            else:
                _drafted(draft, folder, data, mode, _owner(target.name, folder))
            os.replace(draft, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            raise
        _settle(folder)
    finally:
        os.close(folder)


def clear(target: Path) -> None:
    """Remove what a killed `put_back` left beside its target; behind a link there is nothing of it."""
    try:
        folder = _folder(target.parent, makes=False)
    except OSError:
        return
    try:
        with suppress(FileNotFoundError):
            os.unlink(_draft_of(target), dir_fd=folder)
    finally:
        os.close(folder)


def _draft_of(target: Path) -> str:
    """The draft of a file that is put back: always the same, so that whoever does it again finds it."""
    return f".clew-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}"


def _owner(name: str, folder: int) -> os.stat_result | None:
    """The file that is replaced, whose owner stays."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _drafted(draft: str, folder: int, data: bytes, mode: int, old: os.stat_result | None) -> None:
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600, dir_fd=folder)
    try:
        _fill(file, data, old)
        os.fchmod(file, mode)
    finally:
        os.close(file)


def remove_file(target: Path) -> None:
    """Remove a file or a link; one that is gone already is no error. No link on the way is followed."""
    with _parent_of(target) as folder:
        if folder is not None:
            os.unlink(target.name, dir_fd=folder)


def remove_folder(target: Path) -> None:
    """Remove an empty folder; one that is gone already is no error."""
    with _parent_of(target) as folder:
        if folder is not None:
            os.rmdir(target.name, dir_fd=folder)


@contextmanager
def _parent_of(target: Path) -> Iterator[int | None]:
    """Open the folder of a path to remove an entry from it, and sync it afterwards; None if the folder is gone."""
    try:
        folder = _folder(target.parent, makes=False)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    try:
        with suppress(FileNotFoundError):
            yield folder
        _settle(folder)
    finally:
        os.close(folder)


def make_folder(target: Path) -> None:
    """Make a folder, and those above it that are missing; one that exists stays."""
    os.close(_folder(target))


def set_mode(target: Path, mode: int) -> None:
    """Change the mode of a file or a folder. No link on the way, nor at its end, is followed."""
    folder = _folder(target.parent, makes=False)
    try:
        way = Path(f"/proc/self/fd/{folder}")
        if stat.S_ISLNK(os.stat(target.name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not way.exists():
            os.chmod(target.name, mode, dir_fd=folder)
            return
        found = os.open(target.name, getattr(os, "O_PATH", 0) | getattr(os, "O_NOFOLLOW", 0), dir_fd=folder)
        try:
            Path(f"/proc/self/fd/{found}").chmod(mode)  # such a descriptor takes no fchmod
        finally:
            os.close(found)
    finally:
        os.close(folder)


def _folder(path: Path, *, makes: bool = True) -> int:
    """A folder, opened step by step so that no part of it can become a link on the way; made if need be."""
    at = os.open(path.anchor, _STEP)
    for name in path.parts[1:]:
        try:
            try:
                inner = os.open(name, _STEP, dir_fd=at)
            except FileNotFoundError:
                if not makes:
                    raise
                os.mkdir(name, dir_fd=at)
                inner = os.open(name, _STEP, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    return at


def _present(name: str, folder: int) -> os.stat_result | None:
    """What is known of the file that is there; None if there is none."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return found


def _fill(file: int, data: bytes, old: os.stat_result | None) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
    if old is not None:
        made = os.fstat(file)
        if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
            with suppress(PermissionError):
                os.fchown(file, old.st_uid, old.st_gid)
        os.fchmod(file, stat.S_IMODE(old.st_mode))
    os.fsync(file)


def _settle(folder: int) -> None:
    """Make a rename durable, where the folder may be opened for it."""
    try:
        again = os.open(".", os.O_RDONLY, dir_fd=folder)
    except PermissionError:
        return
    try:
        os.fsync(again)
    finally:
        os.close(again)


def outputs(scene: ToolContext) -> Path:
    """The folder for outputs that the session keeps, made if it is not there."""
    folder = scene.folder / "tool-results"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def scratch(folder: Path | None = None) -> tuple[int, Path]:
    """A new file for the output of a command, for this person's eyes alone; only ever appended to."""
    file, name = tempfile.mkstemp(prefix="clew-", suffix=".output", dir=folder)
    os.close(file)
    return os.open(name, os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)), Path(name)


def keep(source: Path, scene: ToolContext) -> Path:
    """Copy a long output into the session's folder, as far as it is kept, and say where it lies."""
    target = outputs(scene) / f"{scene.call_id}.txt"
    file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(file, "wb") as out, open(source, "rb") as text:
        room = MOST_KEPT
        while part := text.read(min(room, 1 << 20)):
            room -= out.write(part)
    return target
