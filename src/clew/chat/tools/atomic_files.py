"""Write files of the user and scratch files of commands; tools write to disk only here.

A file changes in one step: a draft next to it is written, synced and renamed over it. The mode and, where permitted,
the owner are kept, and a symbolic link to the file stays a link. Another hard link to it keeps the old content.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from clew.chat.tools.path_arguments import os_error, resolve_for_writing
from clew.chat.tools.tool import ReadFile, ToolContext, ToolFailed

MAX_EDIT_BYTES = 16 << 20  # maximum size of an edited file: all of it becomes part of the session
MAX_OUTPUT_BYTES = 256 << 20  # maximum size of the output of a command
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Content(Struct, frozen=True):
    """The bytes of a file, and what `read_tracking` remembers about it."""

    data: bytes
    seen: ReadFile


def digest(data: bytes) -> str:
    """Return the hash by which two contents are compared."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def open_regular(path: Path) -> Iterator[int]:
    """Open a regular file for reading. Devices, pipes and /proc are refused: they could block, never end, or expose
    this process.
    """
    real = os.path.realpath(path)
    if real == "/proc" or real.startswith("/proc/"):
        raise ToolFailed(f"{path} is a file of the system's own, which Read does not open. Use Bash to look at it.")
    try:
        file = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise _not_regular_error(path) from None
        raise
    try:
        kind = os.fstat(file).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(kind):
            raise _not_regular_error(path)
        yield file
    finally:
        os.close(file)


def _not_regular_error(path: Path) -> ToolFailed:
    return ToolFailed(f"{path} is a pipe, a socket or a device, not a file that can be read.")


def read_content(path: Path, largest: int = MAX_EDIT_BYTES) -> Content:
    """Read a complete file. Raises ToolFailed if it is larger than `largest`."""
    with open_regular(path) as file:
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
    return Content(data, ReadFile(facts.st_mtime_ns, digest(data)))


def write_file(path: Path, data: bytes, scene: ToolContext) -> ReadFile:
    """Write a file, new or over the old one, and remember it as read by the model."""
    if sys.platform == "win32":
        raise ToolFailed("clew cannot change files on Windows yet.", is_misuse=False)
    target = resolve_for_writing(path, scene.state)
    scene.before_change(target)
    try:
        mtime = _replace_file(target, data)
    except OSError as error:
        raise os_error(error, path, "open") from error
    seen = ReadFile(mtime, digest(data))
    scene.state.seen[target] = seen
    return seen


def _replace_file(target: Path, data: bytes) -> int:
    """Write a draft and rename it over the target. Return the modification time."""
    folder = _open_folder(target.parent)
    draft = f".clew-{secrets.token_hex(6)}"
    try:
        old = _existing_stat(target.name, folder)
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
        try:
            try:
                _write_and_sync(file, data, old)
                mtime = os.fstat(file).st_mtime_ns
            finally:
                os.close(file)
            os.replace(draft, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(draft, dir_fd=folder)
            raise
        _sync_folder(folder)
        return mtime
    finally:
        os.close(folder)


def restore_file(target: Path, data: bytes, mode: int, *, is_link: bool = False) -> None:
    """Restore a file or a link, replacing any file or link at that path; no link in the path is followed."""
    remove_draft(target)
    folder = _open_folder(target.parent)
    draft = _draft_name(target)
    try:
        try:
            if is_link:
                os.symlink(os.fsdecode(data), draft, dir_fd=folder)
            else:
                _write_draft(draft, folder, data, mode, _replaced_stat(target.name, folder))
            os.replace(draft, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            raise
        _sync_folder(folder)
    finally:
        os.close(folder)


def remove_draft(target: Path) -> None:
    """Remove the draft that a killed `restore_file` left next to its target."""
    try:
        folder = _open_folder(target.parent, makes=False)
    except OSError:
        return
    try:
        with suppress(FileNotFoundError):
            os.unlink(_draft_name(target), dir_fd=folder)
    finally:
        os.close(folder)


def _draft_name(target: Path) -> str:
    """Return the draft name of a restored file. It is always the same, so that a second attempt finds it."""
    return f".clew-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}"


def _replaced_stat(name: str, folder: int) -> os.stat_result | None:
    """Return the stat of the file that is replaced, whose owner is kept; None if there is no regular file."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _write_draft(draft: str, folder: int, data: bytes, mode: int, old: os.stat_result | None) -> None:
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        _write_and_sync(file, data, old)
        if sys.platform != "win32":
            os.fchmod(file, mode)
    finally:
        os.close(file)


def remove_file(target: Path) -> None:
    """Remove a file or a link; a missing one is not an error. No link in the path is followed."""
    with _open_parent(target) as folder:
        if folder is not None:
            os.unlink(target.name, dir_fd=folder)


def remove_folder(target: Path) -> None:
    """Remove an empty folder; a missing one is not an error."""
    with _open_parent(target) as folder:
        if folder is not None:
            os.rmdir(target.name, dir_fd=folder)


@contextmanager
def _open_parent(target: Path) -> Iterator[int | None]:
    """Open the folder of a path to remove an entry from it, and sync it afterwards; None if the folder is gone."""
    try:
        folder = _open_folder(target.parent, makes=False)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    try:
        with suppress(FileNotFoundError):
            yield folder
        _sync_folder(folder)
    finally:
        os.close(folder)


def make_folder(target: Path) -> None:
    """Create a folder and its missing parents; an existing one is kept."""
    os.close(_open_folder(target))


def set_mode(target: Path, mode: int) -> None:
    """Change the mode of a file or folder. No link in the path or at its end is followed."""
    folder = _open_folder(target.parent, makes=False)
    try:
        proc_path = Path(f"/proc/self/fd/{folder}")
        if stat.S_ISLNK(os.stat(target.name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not proc_path.exists():
            os.chmod(target.name, mode, dir_fd=folder)
            return
        descriptor = os.open(target.name, getattr(os, "O_PATH", 0) | getattr(os, "O_NOFOLLOW", 0), dir_fd=folder)
        try:
            Path(f"/proc/self/fd/{descriptor}").chmod(mode)  # fchmod does not work on an O_PATH descriptor
        finally:
            os.close(descriptor)
    finally:
        os.close(folder)


def _open_folder(path: Path, *, makes: bool = True) -> int:
    """Open a folder component by component with O_NOFOLLOW, so that no part can be swapped for a link; create
    missing ones.
    """
    current = os.open(path.anchor, _FOLDER_FLAGS)
    for name in path.parts[1:]:
        try:
            try:
                inner = os.open(name, _FOLDER_FLAGS, dir_fd=current)
            except FileNotFoundError:
                if not makes:
                    raise
                os.mkdir(name, dir_fd=current)
                inner = os.open(name, _FOLDER_FLAGS, dir_fd=current)
        finally:
            os.close(current)
        current = inner
    return current


def _existing_stat(name: str, folder: int) -> os.stat_result | None:
    """Return the stat of the existing regular file; None if there is none. Raises OSError for anything else."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return status


def _write_and_sync(file: int, data: bytes, old: os.stat_result | None) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(file, remaining) :]
    if old is not None and sys.platform != "win32":
        status = os.fstat(file)
        if (status.st_uid, status.st_gid) != (old.st_uid, old.st_gid):
            with suppress(PermissionError):
                os.fchown(file, old.st_uid, old.st_gid)
        os.fchmod(file, stat.S_IMODE(old.st_mode))
    os.fsync(file)


def _sync_folder(folder: int) -> None:
    """Make a rename durable, if the folder can be opened for that."""
    try:
        descriptor = os.open(".", os.O_RDONLY, dir_fd=folder)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def output_folder(scene: ToolContext) -> Path:
    """Return the folder for outputs that the session keeps; create it if missing."""
    folder = scene.folder / "tool-results"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def create_output_file(folder: Path | None = None) -> tuple[int, Path]:
    """Create a file for the output of a command, readable by this user only, opened for appending."""
    file, name = tempfile.mkstemp(prefix="clew-", suffix=".output", dir=folder)
    os.close(file)
    return os.open(name, os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)), Path(name)


def save_output(source: Path, scene: ToolContext) -> Path:
    """Copy a long output into the session folder, up to the size limit, and return its path."""
    target = output_folder(scene) / f"{scene.call_id}.txt"
    file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(file, "wb") as copy, open(source, "rb") as text:
        remaining = MAX_OUTPUT_BYTES
        while part := text.read(min(remaining, 1 << 20)):
            remaining -= copy.write(part)
    return target
