"""List the files to collect, their kind, owner and file-system state, in reading order.

Nothing is opened. Links are never followed, so everything collected is below the Claude Code folder; only its folder
`projects` may itself be a link, because some users keep it elsewhere. Settings, credentials and shell snapshots are
not read.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Iterable, Iterator
from stat import S_ISREG
from typing import NamedTuple

from clew.wire.tree_walk import is_utf8, is_uuid

_MAX_SQL_INTEGER = (1 << 63) - 1  # largest integer that SQLite stores
_REPLACED_KINDS = ("index", "stats", "meta", "side", "todo", "task", "plan", "backup", "pasted")
_PRIORITY = {"index": 0, "session": 0, "agent": 1, "history": 2, "stats": 3}
_EXTRA_PRIORITY = 4  # archived, but never delivered to a sink
_EXTRA_FOLDERS = {"todos": "todo", "tasks": "task", "plans": "plan", "file-history": "backup", "paste-cache": "pasted"}


class SourceState(NamedTuple):
    """File-system metadata; if all of it is equal, the file has not changed."""

    dev: int
    ino: int
    size: int
    mtime: int
    ctime: int


class SourceFile(NamedTuple):
    """A file to collect: its path below the root with `/`, its kind, and the project, session and agent that own it."""

    path: str
    kind: str
    project: str
    session: str
    agent: str
    state: SourceState

    @property
    def is_whole(self) -> bool:
        """Return whether the file is replaced as one document; other files grow by lines."""
        return is_replaced_kind(self.kind)

    @property
    def priority(self) -> int:
        return _PRIORITY.get(self.kind, _EXTRA_PRIORITY)


class SourceFiles:
    """Files to collect. Each is kept as one value of bytes, less than half as large as its fields: there may be many."""

    def __init__(self, files: Iterable[SourceFile] = ()) -> None:
        self._rows: list[bytes] = []
        for file in files:
            self.append(file)

    def append(self, file: SourceFile) -> None:
        self._rows.append(marshal.dumps((*file[:5], *file.state)))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> SourceFile:
        path, kind, project, session, agent, *state = marshal.loads(self._rows[number])
        return SourceFile(path, kind, project, session, agent, SourceState(*state))

    def __iter__(self) -> Iterator[SourceFile]:
        return map(self.__getitem__, range(len(self)))


class Scan(NamedTuple):
    """The files found, the paths that could not be examined (then no deletion is proved), and the ignored paths."""

    sources: SourceFiles
    missed: list[str]
    skipped: list[str]
    misnamed: list[str]
    """Files whose names are not UTF-8, so that the archive cannot name them."""


def is_replaced_kind(kind: str) -> bool:
    return kind in _REPLACED_KINDS


DELIVERED_KINDS = tuple(_PRIORITY)


def state_of(stat: os.stat_result) -> SourceState:
    """Return the metadata of a stat result. Numbers are reduced to what SQLite can store."""
    return SourceState(
        stat.st_dev & _MAX_SQL_INTEGER, stat.st_ino & _MAX_SQL_INTEGER, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
    )


def scan(root: str, *, extras: bool = True) -> Scan:
    """List everything to collect below a Claude Code folder; `extras` are files that are not conversations."""
    listing = Scan(SourceFiles(), [], [], [])
    if not os.path.isdir(root):
        listing.missed.append(root)
        return listing
    for project in _entries(os.path.join(root, "projects"), listing):
        if project.is_dir(follow_symlinks=False):
            _scan_project(project.path, project.name, listing, extras)
        elif project.is_symlink():
            listing.skipped.append(f"projects/{project.name}")
    for name, kind in (("history.jsonl", "history"), ("stats-cache.json", "stats")):
        _add_file(root, name, kind, listing)
    if extras:
        for folder, kind in _EXTRA_FOLDERS.items():
            _scan_extra_folder(os.path.join(root, folder), folder, kind, listing)
    return listing


def in_reading_order(sources: SourceFiles, expiring: int) -> Iterator[SourceFile]:
    """Yield files in order: first those that Claude Code will delete soon (older than `expiring`), then by priority;
    oldest first.
    """

    def rank(number: int) -> tuple[bool, int, int, str]:
        file = sources[number]
        return file.state.mtime >= expiring, file.priority, file.state.mtime, file.path

    return map(sources.__getitem__, sorted(range(len(sources)), key=rank))


def _scan_project(path: str, project: str, listing: Scan, extras: bool) -> None:
    """Add the files of a project. A session is named by its id; any other `.jsonl` is archived but not delivered."""
    base = f"projects/{project}"
    for entry in _entries(path, listing):
        name = entry.name
        if name.endswith(".jsonl"):
            if agent := _agent_id(name):
                _add_entry(entry, base, ("agent", project, "", agent), listing)
            elif is_uuid(name[:-6]):
                _add_entry(entry, base, ("session", project, name[:-6], ""), listing)
            elif extras or entry.is_symlink():
                _add_entry(entry, base, ("journal", project, "", ""), listing)
        elif name == "sessions-index.json":
            _add_entry(entry, base, ("index", project, "", ""), listing)
        elif entry.is_dir(follow_symlinks=False):
            session = "" if name in ("subagents", "memory") else name
            _scan_session_folder(entry.path, f"{base}/{name}", (project, session), listing, extras)
        elif extras or entry.is_symlink():
            _add_entry(entry, base, ("side", project, "", ""), listing)


def _scan_session_folder(path: str, base: str, owner: tuple[str, str], listing: Scan, extras: bool) -> None:
    """Add everything in a session's folder: agents at any depth, and all other files."""
    for entry in _entries(path, listing):
        agent = _agent_id(entry.name)
        if agent:
            _add_entry(entry, base, ("agent", *owner, agent), listing)
        elif entry.is_dir(follow_symlinks=False):
            _scan_session_folder(entry.path, f"{base}/{entry.name}", owner, listing, extras)
        elif extras:
            agent_of_meta = entry.name[6:-10] if _is_meta(entry.name) else ""
            kind = "journal" if entry.name.endswith(".jsonl") else "side"
            _add_entry(entry, base, ("meta" if agent_of_meta else kind, *owner, agent_of_meta), listing)


def _scan_extra_folder(path: str, base: str, kind: str, listing: Scan) -> None:
    for entry in _entries(path, listing):
        if entry.is_dir(follow_symlinks=False):
            _scan_extra_folder(entry.path, f"{base}/{entry.name}", kind, listing)
        else:
            _add_entry(entry, base, (kind, "", _owner_session(base, entry.name, kind), ""), listing)


def _owner_session(base: str, name: str, kind: str) -> str:
    """Return the session that an extra file belongs to, by its name or its folder's name."""
    if kind == "todo":
        return name.removesuffix(".json").split("-agent-")[0]
    return base.split("/")[1] if "/" in base else ""


def _agent_id(name: str) -> str:
    return name[6:-6] if name.startswith("agent-") and name.endswith(".jsonl") else ""


def _is_meta(name: str) -> bool:
    return name.startswith("agent-") and name.endswith(".meta.json")


def _add_entry(entry: os.DirEntry[str], base: str, names: tuple[str, str, str, str], listing: Scan) -> None:
    path = f"{base}/{entry.name}"
    try:
        stat = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # deleted since the folder was listed
        return
    except OSError:
        listing.missed.append(path)
        return
    if not S_ISREG(stat.st_mode):
        listing.skipped.append(path)
    elif not is_utf8(path):
        listing.misnamed.append(path)
    else:
        listing.sources.append(SourceFile(path, *names, state_of(stat)))


def _add_file(root: str, name: str, kind: str, listing: Scan) -> None:
    try:
        stat = os.lstat(os.path.join(root, name))
    except FileNotFoundError:
        return
    except OSError:
        listing.missed.append(name)
        return
    if S_ISREG(stat.st_mode):
        listing.sources.append(SourceFile(name, kind, "", "", "", state_of(stat)))
    else:
        listing.skipped.append(name)


def _entries(path: str, listing: Scan) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return iter(list(entries))
    except (FileNotFoundError, NotADirectoryError):
        return iter(())
    except OSError:
        listing.missed.append(path)
        return iter(())
