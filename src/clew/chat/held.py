"""What stands at a path: a file, a link, or nothing. Links are looked at and never followed."""

from __future__ import annotations

import difflib
import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from clew.chat.tools.disk import put_back, take_away
from clew.chat.tools.text import decode

LARGEST = 256 << 20  # bytes of a file that is looked at
AROUND = 3  # lines around a change

Kind = Literal["file", "link", "none", "other"]


@dataclass(frozen=True, slots=True)
class Held:
    """What stands at a path. `data` is the content of a file, or where a link leads to."""

    kind: Kind = "none"
    data: bytes = b""
    mode: int = 0o644

    @property
    def digest(self) -> str:
        """What tells two states apart; modes do not count."""
        return f"{self.kind}:{sha256(self.data).hexdigest()}"

    @property
    def text(self) -> str | None:
        """The text of a file, every line ended by a newline alone; None if it is none."""
        if self.kind == "none":
            return ""
        found = decode(self.data) if self.kind == "file" else None
        return found.plain if found else None

    def is_like(self, other: Held) -> bool:
        """Whether both stand for the same, down to the mode of a file."""
        is_same = (self.kind, self.data) == (other.kind, other.data)
        return is_same and (self.kind != "file" or self.mode == other.mode)


ABSENT = Held()


def held(path: Path, top: Path | None = None) -> Held:
    """What stands at a path. A folder, a device, or a file that is too large or not ours to look at is `other`.

    Behind a link below `top` nothing stands: it leads elsewhere.
    """
    if top is not None and path.is_relative_to(top) and any(above.is_symlink() for above in _between(path, top)):
        return ABSENT
    try:
        facts = os.lstat(path)
        if stat.S_ISLNK(facts.st_mode):
            return Held("link", os.fsencode(path.readlink()))
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
            return Held("other")
        return Held("file", path.read_bytes(), stat.S_IMODE(facts.st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except PermissionError:
        return Held("other")


def _between(path: Path, top: Path) -> Iterator[Path]:
    """The folders above a path and below another one."""
    return itertools.takewhile(lambda above: above != top, path.parents)


def stand(path: Path, wanted: Held, top: Path) -> None:
    """Make this stand at a path, in one step. Folders below `top` that a removal leaves empty go with it."""
    if wanted.kind == "none":
        take_away(path, top)
    else:
        if path.is_dir() and not path.is_symlink():
            for folder, _, _ in os.walk(path, topdown=False):  # of what is left in it, only folders may be
                Path(folder).rmdir()
        put_back(path, wanted.data, wanted.mode, is_link=wanted.kind == "link")


def difference(before: Held, after: Held, name: str) -> str:
    """What turns one into the other, as a unified diff; a sentence where there are no lines to compare."""
    old, new = before.text, after.text
    if old is None or new is None:
        return f"{name}: {_told(before)} becomes {_told(after)}\n"
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}", n=AROUND
    )
    made = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    if not made and before.kind == after.kind == "file" and before.mode != after.mode:
        return f"{name}: mode {before.mode:o} becomes {after.mode:o}\n"
    return made or (f"{name}: {_told(before)} becomes {_told(after)}\n" if before.kind != after.kind else "")


def _told(state: Held) -> str:
    match state.kind:
        case "none":
            return "nothing"
        case "link":
            return f"a link to {os.fsdecode(state.data)}"
        case "other":
            return "a folder or something else"
    return f"{'a file' if state.text is not None else 'a binary file'} of {len(state.data):,} bytes"
