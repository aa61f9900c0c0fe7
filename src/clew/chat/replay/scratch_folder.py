"""Copy a project to a scratch folder in which a model may do anything."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from clew.chat.config.repository import list_files
from clew.errors import Refused

LARGEST = 1 << 30  # bytes of a project that are copied


def copy_project(folder: Path, into: Path) -> Path:
    """Copy a project: the files that git tracks or would track, or all files without git. Raises Refused.

    Symbolic links stay links; anything that is neither a file nor a link is left out.
    """
    found = [(path, path.lstat()) for path in _files(folder) if os.path.lexists(path)]
    whole = sum(about.st_size for _, about in found)
    if whole > LARGEST:
        raise Refused([f"{folder} holds {whole >> 20} MB, which is more than is copied ({LARGEST >> 20} MB)"])
    for path, about in found:
        copied = into / path.relative_to(folder)
        if stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode):
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copied, follow_symlinks=False)
    return into


def _files(folder: Path) -> Iterator[Path]:
    known = list_files(folder)
    if known is not None:
        yield from (folder / name for name in known)
        return
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        yield from (Path(parent, name) for name in (*names, *links))
