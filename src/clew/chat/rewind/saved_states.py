"""Find the backups of files that a transcript names, and the path that each belongs to."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from msgspec import Struct

from clew.chat.rewind.path_state import ABSENT, PathState, is_link, read_path_state
from clew.chat.rewind.protected_paths import PROTECTED, is_protected_path
from clew.chat.rewind.shadow_git import Shadow
from clew.wire.entry_types import Backup
from clew.wire.side_files import is_bare_name
from clew.wire.timestamps import parse_timestamp

_AT_ONCE = 2.0  # seconds


class SavedStateFolders(Struct, frozen=True):
    """Where the files of a session and their saved states are. Nothing outside `roots` is changed."""

    backups: Path  # `file-history/<session>`
    cwd: Path  # that relative names start from
    roots: tuple[Path, ...]
    store: Path
    shadow: Shadow | None = None  # what commands did


def real_path(path: Path) -> Path | None:
    """Return a path with links resolved; None if no file can have such a name."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return None


def target_of(name: str, backup: Backup, ground: SavedStateFolders) -> tuple[Path | None, str]:
    """Return the resolved path of a name, or why it must not be changed."""
    path = Path(os.path.normpath(ground.cwd / name))
    real = real_path(path)
    if real is None:
        return None, "its name is not valid on this system"
    if ".git" in (*path.parts, *real.parts):
        return None, "it belongs to git"
    roots = [Path(os.path.realpath(root)) for root in ground.roots]
    if not any(real.is_relative_to(root) for root in roots):
        return None, f"it is outside of {ground.cwd}"
    if is_protected_path(path, real):
        return None, PROTECTED + _where(backup, ground)
    if backup.name is None and backup.content is None and is_link(path):
        return Path(os.path.realpath(path.parent)) / path.name, ""  # the link itself did not exist
    return real, ""


def _where(backup: Backup, ground: SavedStateFolders) -> str:
    known = backup.name and is_bare_name(backup.name) and os.path.isfile(ground.backups / backup.name)
    return f"; its earlier content is in {ground.backups / str(backup.name)}" if known else ""


def saved_state(backup: Backup, ground: SavedStateFolders) -> PathState | None:
    """Return the state of a backup; None if its file is missing or its name leads elsewhere."""
    if backup.content is not None:
        return PathState("file", backup.content.encode("utf-8", "surrogatepass"))
    if backup.name is None:
        return ABSENT
    if not is_bare_name(backup.name):
        return None
    state = read_path_state(ground.backups / backup.name)
    state = state if state.kind == "file" else _misplaced_backup(backup, ground) or ABSENT
    return PathState("file", state.data, state.mode & 0o777) if state.kind == "file" else None


def _misplaced_backup(backup: Backup, ground: SavedStateFolders) -> PathState | None:
    """Find a backup in the folder of another session id, where version 2.1.29 writes it when it resumes with
    --print.

    Its time distinguishes it from others of that name: Claude Code writes the line and the file within a moment.
    """
    when = parse_timestamp(backup.time)
    if when is None:
        return None
    near = [
        path
        for path in ground.backups.parent.glob(f"*/{glob.escape(str(backup.name))}")
        if abs(path.stat().st_mtime - when.timestamp()) <= _AT_ONCE
    ]
    states = {state.digest: state for state in map(read_path_state, near) if state.kind == "file"}
    return next(iter(states.values())) if len(states) == 1 else None
