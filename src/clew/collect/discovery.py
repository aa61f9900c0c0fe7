"""Sources: which files are collected, in which order, and what the file system says of them.

Nothing is opened. Links are never followed, so what is collected lies below the folder of Claude Code; only its folder
`projects` may itself be a link, as some people keep it elsewhere. Settings, credentials and shell snapshots are not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from stat import S_ISREG
from typing import NamedTuple

from clew.wire.tree_walk import is_uuid

_LARGEST = (1 << 63) - 1  # of what a database keeps as a number
_WHOLE = ("index", "stats", "meta", "side", "todo", "task", "plan", "backup", "pasted")
_PRIORITY = {"index": 0, "session": 0, "agent": 1, "history": 2, "stats": 3}
_EXTRA = 4  # kept in the archive, and never delivered anywhere
_FOLDERS = {"todos": "todo", "tasks": "task", "plans": "plan", "file-history": "backup", "paste-cache": "pasted"}


class FileState(NamedTuple):
    """All of this is the same as long as a file is."""

    dev: int
    ino: int
    size: int
    mtime: int
    ctime: int


class SourceFile(NamedTuple):
    """A file: its path below the root with `/`, what it is, and to whom it belongs."""

    path: str
    kind: str
    project: str
    session: str
    agent: str
    state: FileState

    @property
    def is_whole(self) -> bool:
        """Whether it is taken as a whole each time; the others grow by lines."""
        return is_whole(self.kind)

    @property
    def priority(self) -> int:
        return _PRIORITY.get(self.kind, _EXTRA)


class Scan(NamedTuple):
    """What was found, what could not be looked at (then nothing is proved to be gone), and what is left alone."""

    found: list[SourceFile]
    missed: list[str]
    skipped: list[str]


def is_whole(kind: str) -> bool:
    return kind in _WHOLE


DELIVERED = tuple(_PRIORITY)


def state_of(stat: os.stat_result) -> FileState:
    return FileState(stat.st_dev & _LARGEST, stat.st_ino & _LARGEST, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def scan(root: str, *, extras: bool = True) -> Scan:
    """Everything to collect below a folder of Claude Code; `extras` are the files that are no conversation."""
    scan = Scan([], [], [])
    if not os.path.isdir(root):
        scan.missed.append(root)
        return scan
    for project in _entries(os.path.join(root, "projects"), scan):
        if project.is_dir(follow_symlinks=False):
            _project(project.path, project.name, scan, extras)
        elif project.is_symlink():
            scan.skipped.append(f"projects/{project.name}")
    for name, kind in (("history.jsonl", "history"), ("stats-cache.json", "stats")):
        _add_file(root, name, kind, scan)
    if extras:
        for folder, kind in _FOLDERS.items():
            _extra(os.path.join(root, folder), folder, kind, scan)
    return scan


def in_order(found: Iterable[SourceFile], expiring: int) -> list[SourceFile]:
    """What Claude Code is about to delete (older than `expiring`), then by priority; the oldest first in each."""

    def rank(file: SourceFile) -> tuple[bool, int, int, str]:
        return file.state.mtime >= expiring, file.priority, file.state.mtime, file.path

    return sorted(found, key=rank)


def _project(path: str, project: str, scan: Scan, extras: bool) -> None:
    """The files of a project. A session is named by its id; any other `.jsonl` is kept and not delivered."""
    base = f"projects/{project}"
    for entry in _entries(path, scan):
        name = entry.name
        if name.endswith(".jsonl"):
            if agent := _agent(name):
                _add(entry, base, ("agent", project, "", agent), scan)
            elif is_uuid(name[:-6]):
                _add(entry, base, ("session", project, name[:-6], ""), scan)
            elif extras or entry.is_symlink():
                _add(entry, base, ("journal", project, "", ""), scan)
        elif name == "sessions-index.json":
            _add(entry, base, ("index", project, "", ""), scan)
        elif entry.is_dir(follow_symlinks=False):
            session = "" if name in ("subagents", "memory") else name
            _below(entry.path, f"{base}/{name}", (project, session), scan, extras)
        elif extras or entry.is_symlink():
            _add(entry, base, ("side", project, "", ""), scan)


def _below(path: str, base: str, owner: tuple[str, str], scan: Scan, extras: bool) -> None:
    """What belongs to a session: agents wherever they lie, and everything else as it is."""
    for entry in _entries(path, scan):
        agent = _agent(entry.name)
        if agent:
            _add(entry, base, ("agent", *owner, agent), scan)
        elif entry.is_dir(follow_symlinks=False):
            _below(entry.path, f"{base}/{entry.name}", owner, scan, extras)
        elif extras:
            about = entry.name[6:-10] if _is_meta(entry.name) else ""
            grows = "journal" if entry.name.endswith(".jsonl") else "side"
            _add(entry, base, ("meta" if about else grows, *owner, about), scan)


def _extra(path: str, base: str, kind: str, scan: Scan) -> None:
    for entry in _entries(path, scan):
        if entry.is_dir(follow_symlinks=False):
            _extra(entry.path, f"{base}/{entry.name}", kind, scan)
        else:
            _add(entry, base, (kind, "", _owner(base, entry.name, kind), ""), scan)


def _owner(base: str, name: str, kind: str) -> str:
    """The session that an extra file belongs to, by its name or by its folder's."""
    if kind == "todo":
        return name.removesuffix(".json").split("-agent-")[0]
    return base.split("/")[1] if "/" in base else ""


def _agent(name: str) -> str:
    return name[6:-6] if name.startswith("agent-") and name.endswith(".jsonl") else ""


def _is_meta(name: str) -> bool:
    return name.startswith("agent-") and name.endswith(".meta.json")


def _add(entry: os.DirEntry[str], base: str, names: tuple[str, str, str, str], scan: Scan) -> None:
    path = f"{base}/{entry.name}"
    try:
        stat = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # gone since the folder was read
        return
    except OSError:
        scan.missed.append(path)
        return
    if S_ISREG(stat.st_mode) and _is_text(path):
        scan.found.append(SourceFile(path, *names, state_of(stat)))
    else:
        scan.skipped.append(path)


def _is_text(path: str) -> bool:
    """Whether a name can be kept as text; the program writes no others."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _add_file(root: str, name: str, kind: str, scan: Scan) -> None:
    try:
        stat = os.lstat(os.path.join(root, name))
    except FileNotFoundError:
        return
    except OSError:
        scan.missed.append(name)
        return
    if S_ISREG(stat.st_mode):
        scan.found.append(SourceFile(name, kind, "", "", "", state_of(stat)))
    else:
        scan.skipped.append(name)


def _entries(path: str, scan: Scan) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            return iter(list(found))
    except (FileNotFoundError, NotADirectoryError):
        return iter(())
    except OSError:
        scan.missed.append(path)
        return iter(())
