"""Read what exists at a path: a file, a link, a folder, or nothing. Links are never followed."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clew.chat.tools.text_encoding import decode
from clew.facts.unified_diff import unified

LARGEST = 256 << 20  # bytes of a file that is looked at
AROUND = 3  # lines around a change

Kind = Literal["file", "link", "folder", "none", "other"]


class PathState(Struct, frozen=True):
    """What exists at a path. `data` is the content of a file, or the target of a link."""

    kind: Kind = "none"
    data: bytes = b""
    mode: int = 0o644

    @property
    def digest(self) -> str:
        """A hash of kind and content, without modes."""
        return f"{self.kind}:{sha256(self.data).hexdigest()}"

    @property
    def text(self) -> str | None:
        """The text of a file with newlines only; None if it is not text."""
        if self.kind == "none":
            return ""
        decoded = decode(self.data) if self.kind == "file" else None
        return decoded.plain if decoded else None

    def is_like(self, other: PathState) -> bool:
        """Return True if both are the same, including the mode of a file or folder."""
        is_same = (self.kind, self.data) == (other.kind, other.data)
        return is_same and (self.kind in ("link", "none") or self.mode == other.mode)


ABSENT = PathState()


def read_path_state(path: Path, top: Path | None = None) -> PathState:
    """Return what exists at a path. A device, or a file that is too large or unreadable, is `other`.

    A path that passes through a link below `top` counts as absent, because it leads elsewhere.
    """
    if top is not None and path.is_relative_to(top) and any(map(is_link, _folders_between(path, top))):
        return ABSENT
    mode = 0
    try:
        facts = os.lstat(path)
        mode = stat.S_IMODE(facts.st_mode)
        if stat.S_ISLNK(facts.st_mode):
            return PathState("link", os.fsencode(path.readlink()))
        if stat.S_ISDIR(facts.st_mode):
            return PathState("folder", b"", mode)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
            return PathState("other", b"", mode)
        return PathState("file", path.read_bytes(), mode)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except (OSError, ValueError):  # it may not be read, or no file system takes such a name
        return PathState("other", b"", mode)


def is_link(path: Path) -> bool:
    """Return True if a link exists at a path; False for an invalid name."""
    try:
        return path.is_symlink()
    except OSError:
        return False


def _folders_between(path: Path, top: Path) -> Iterator[Path]:
    """Return the folders above a path, up to but without `top`."""
    return itertools.takewhile(lambda above: above != top, path.parents)


def unified_diff(before: PathState, after: PathState, name: str) -> str:
    """Return a unified diff of two states, or a sentence if there are no lines to compare."""
    old, new = before.text, after.text
    if before.kind == after.kind == "folder" and before.mode != after.mode:
        return f"{name}: mode {before.mode:o} becomes {after.mode:o}\n"
    if old is None or new is None:
        return f"{name}: {_describe(before)} becomes {_describe(after)}\n"
    names = (f"a/{name}", f"b/{name}")
    lines = unified(old.splitlines(keepends=True), new.splitlines(keepends=True), names, AROUND, "\n")
    diff = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    if not diff and before.kind == after.kind == "file" and before.mode != after.mode:
        return f"{name}: mode {before.mode:o} becomes {after.mode:o}\n"
    return diff or (f"{name}: {_describe(before)} becomes {_describe(after)}\n" if before.kind != after.kind else "")


def _describe(state: PathState) -> str:
    match state.kind:
        case "none":
            return "nothing"
        case "link":
            return f"a link to {os.fsdecode(state.data)}"
        case "folder":
            return "a folder"
        case "other":
            return "something that is not a readable file"
    return f"{'a file' if state.text is not None else 'a binary file'} of {len(state.data):,} bytes"
