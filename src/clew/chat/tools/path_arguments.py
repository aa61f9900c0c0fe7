"""Paths: what a call names, where it leads, and how a failure at it is told."""

from __future__ import annotations

import difflib
import errno
import itertools
import os
from pathlib import Path

from clew.chat.tools.tool import ToolFailed, ToolState

_LISTED = 2000  # names of a folder that are looked at for one that was meant


def named(given: str, state: ToolState) -> Path:
    """The path that a call names, absolute and without dots; links in it are kept."""
    if "\0" in given:
        raise ToolFailed("A path cannot hold a null character.")
    path = Path(given)
    try:
        path = path.expanduser()
    except RuntimeError:  # there is no person of that name, so it is a name like others
        pass
    return Path(os.path.normpath(state.cwd / path))


def is_inside(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a path lies in one of these folders, as it is written or where the folders lead."""
    return any(path.is_relative_to(root) or path.is_relative_to(os.path.realpath(root)) for root in roots)


def writable(path: Path, state: ToolState) -> Path:
    """Where a write to this path goes, with no link left in it. A link must not lead out of the project."""
    real = Path(os.path.realpath(path))
    if is_inside(real, state.roots):
        return real
    if is_inside(path, state.roots) or path.is_symlink():
        raise ToolFailed(
            f"{path} leads to {real} through a symbolic link, which is outside the project. Nothing was written."
        )
    return real


def missing(path: Path, state: ToolState) -> ToolFailed:
    """The failure for a file that is not there, with the one that was likely meant."""
    near = _nearest(path, state)
    return ToolFailed("File does not exist." + (f" Did you mean {near}?" if near else ""))


def _nearest(path: Path, state: ToolState) -> Path | None:
    for base in (state.cwd, state.project):
        for skip in range(1, len(path.parts)):
            candidate = base.joinpath(*path.parts[skip:])
            if candidate != path and candidate.is_file():
                return candidate
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in itertools.islice(entries, _LISTED)]
    except OSError:
        return None
    same_stem = sorted(name for name in names if Path(name).stem == path.stem)
    close = same_stem or difflib.get_close_matches(path.name, names, 1, 0.7)
    return path.parent / close[0] if close else None


def told(error: OSError, path: Path, doing: str) -> ToolFailed:
    """An error of the system, in the words programs use for it."""
    if error.errno == errno.EISDIR:
        return ToolFailed(f"EISDIR: illegal operation on a directory, {doing}", is_misuse=False)
    code = errno.errorcode.get(error.errno or 0, "EIO")
    return ToolFailed(f"{code}: {(error.strerror or 'input/output error').lower()}, {doing} '{path}'", is_misuse=False)
