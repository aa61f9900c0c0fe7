"""Map paths at or below one folder to another folder, also between Windows and POSIX paths."""

from __future__ import annotations

import re
from unicodedata import normalize

from msgspec import Struct

from clew.wire.project_slug import DRIVE

_SEPARATORS = re.compile(r"[\\/]+")


class PathMapping(Struct, frozen=True):
    """The old and the new absolute path of a folder.

    Windows paths are compared without case and with either separator; all paths in Unicode form NFC.
    """

    old: str
    new: str

    def covers(self, path: str) -> bool:
        """Return True if a path is the old folder or lies below it."""
        return self._tail(path) is not None

    def apply(self, path: str) -> str:
        """Return the new path of a path at or below the old folder; any other path is returned unchanged."""
        tail = self._tail(path)
        if tail is None:
            return path
        separator = "\\" if is_windows_path(self.new) else "/"
        return separator.join((self.new.rstrip("\\/" if separator == "\\" else "/"), *tail)) or self.new

    def _tail(self, path: str) -> list[str] | None:
        """Return the parts of a path below the old folder, or None if it lies elsewhere.

        If the new folder lies below the old one, paths in it are new already.
        """
        tail = _tail_below(self.old, path)
        is_new = tail is not None and _tail_below(self.new, path) is not None and _tail_below(self.old, self.new)
        return None if is_new else tail


def _tail_below(folder: str, path: str) -> list[str] | None:
    if is_windows_path(path) != is_windows_path(folder):
        return None
    base, parts = _split(folder), _split(path)
    if [_fold(part, path) for part in parts[: len(base)]] != [_fold(part, path) for part in base]:
        return None
    return parts[len(base) :]


def is_windows_path(path: str) -> bool:
    return bool(DRIVE.match(path)) or path.startswith("\\\\")


def _split(path: str) -> list[str]:
    parts = _SEPARATORS.split(path) if is_windows_path(path) else re.split("/+", path)
    return parts[:-1] if parts[-1] == "" else parts


def _fold(part: str, path: str) -> str:
    part = normalize("NFC", part)
    return part.casefold() if is_windows_path(path) else part
