"""Define paths that a rewind never changes: the home folder itself, system folders, start-up files."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

from clew.chat.permission.command_options import split_names
from clew.chat.permission.path_scope import ResolvedPath, is_protected
from clew.system.environment import user_homes

PROTECTED = "it is in a protected place, where a rewind writes nothing"
_SYSTEM = split_names(
    "/bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /proc /sbin /sys /usr/bin /usr/lib /usr/lib64 /usr/sbin"
    " /usr/libexec /usr/local/bin /usr/local/lib /usr/local/sbin /System /private/etc"
)
_SHARED = frozenset(
    f"/{name}"
    for name in (
        *("", "home", "Users", "root", "usr", "usr/local", "usr/share", "var"),
        *("private", "private/var", "Library", "Applications", "Volumes"),
    )
)


def refuse_folder(folder: str | None) -> str:
    """Return why a rewind may not change anything in this folder; empty if it may."""
    if not folder:
        return "this session does not name its folder"
    if not Path(folder).is_absolute():
        return f"the folder of this session, {folder}, is not an absolute path"
    if not os.path.isdir(folder):
        return f"the folder of this session, {folder}, does not exist"
    real = Path(os.path.realpath(folder))
    homes = {Path(os.path.realpath(home)) for home in user_homes()}
    if _plain(real) in map(_plain, homes):
        return f"the folder of this session, {folder}, is your home folder, in which a rewind changes nothing"
    above = {_plain(parent) for home in homes for parent in home.parents}
    within = {_plain(parent) for parent in (real, *real.parents)}
    is_system = _plain(real) in {*above, *map(_plain, _SHARED)} or not within.isdisjoint(map(_plain, _SYSTEM))
    if is_system or is_protected_path(Path(folder), real):
        return f"the folder of this session, {folder}, is a protected place, in which a rewind changes nothing"
    return ""


def is_protected_path(path: Path, real: Path | None = None) -> bool:
    """Return True if a path, as written or resolved, is protected."""
    return is_protected(ResolvedPath(path, (real or Path(os.path.realpath(path)),)))


def _plain(path: str | Path) -> str:
    return unicodedata.normalize("NFKC", str(path)).casefold()
