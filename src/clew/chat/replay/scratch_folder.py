"""Copy a project to a scratch folder in which a model may do anything."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from clew.chat.config.repository import list_files
from clew.errors import Refused

MAX_BYTES = 1 << 30  # maximum size of a project


def copy_project(folder: Path, into: Path) -> Path:
    """Copy a project: the files that git tracks or would track, or all files without git. Raises Refused.

    Symbolic links stay links; anything that is neither a file nor a link is left out.
    """
    files = [(path, path.lstat()) for path in _files(folder) if os.path.lexists(path)]
    whole = sum(about.st_size for _, about in files)
    if whole > MAX_BYTES:
        raise Refused([f"{folder} has {whole >> 20} MB; at most {MAX_BYTES >> 20} MB are copied"])
    for path, about in files:
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
