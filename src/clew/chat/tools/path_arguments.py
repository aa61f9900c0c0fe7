"""Resolve the path argument of a call, and describe errors about it."""

from __future__ import annotations

import difflib
import errno
import itertools
import os
from pathlib import Path

from clew.chat.tools.tool import ToolFailed, ToolState

_MAX_NAMES = 2000  # names in a folder that are compared


def resolve_argument(argument: str, state: ToolState) -> Path:
    """Return the absolute path that a call names, without dots; links are kept. Raises ToolFailed."""
    if "\0" in argument:
        raise ToolFailed("A path cannot hold a null character.")
    path = Path(argument)
    try:
        path = path.expanduser()
    except RuntimeError:  # no such user: `~name` is an ordinary file name
        pass
    return Path(os.path.normpath(state.cwd / path))


def is_inside(path: Path, roots: tuple[Path, ...]) -> bool:
    """Return True if a path is in one of these folders, as written or with links in the folders resolved."""
    return any(path.is_relative_to(root) or path.is_relative_to(os.path.realpath(root)) for root in roots)


def resolve_for_writing(path: Path, state: ToolState) -> Path:
    """Return the path that a write goes to, with links resolved. Raises ToolFailed if a link leads out of the
    project.
    """
    real = Path(os.path.realpath(path))
    if is_inside(real, state.roots):
        return real
    if is_inside(path, state.roots) or path.is_symlink():
        raise ToolFailed(
            f"{path} leads to {real} through a symbolic link, which is outside the project. Nothing was written."
        )
    return real


def missing_file_error(path: Path, state: ToolState) -> ToolFailed:
    """Return the error for a missing file, with a suggestion of the file that was probably meant."""
    near = _suggest_file(path, state)
    return ToolFailed("File does not exist." + (f" Did you mean {near}?" if near else ""))


def _suggest_file(path: Path, state: ToolState) -> Path | None:
    for base in (state.cwd, state.project):
        for skip in range(1, len(path.parts)):
            candidate = base.joinpath(*path.parts[skip:])
            if candidate != path and candidate.is_file():
                return candidate
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in itertools.islice(entries, _MAX_NAMES)]
    except OSError:
        return None
    same_stem = sorted(name for name in names if Path(name).stem == path.stem)
    close = same_stem or difflib.get_close_matches(path.name, names, 1, 0.7)
    return path.parent / close[0] if close else None


def os_error(error: OSError, path: Path, doing: str) -> ToolFailed:
    """Convert an OSError to the error text that Claude Code shows: `ENOENT: no such file or directory, open 'x'`."""
    if error.errno == errno.EISDIR:
        return ToolFailed(f"EISDIR: illegal operation on a directory, {doing}", is_misuse=False)
    code = errno.errorcode.get(error.errno or 0, "EIO")
    return ToolFailed(f"{code}: {(error.strerror or 'input/output error').lower()}, {doing} '{path}'", is_misuse=False)
