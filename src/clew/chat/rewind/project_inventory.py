"""List what exists in a project besides the files in the shadow store.

A rewind deletes a file only if the inventory before the command shows that it was absent. Ignored files, nested
repositories, large and special files are not stored; the inventory has their names and metadata, so that a change is
detected and reported. Small ignored files such as `.env` are stored with their content.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from msgspec import Struct, field

from clew.chat.permission.command_options import split_names
from clew.chat.rewind.path_state import PathState, read_path_state

LARGEST = 8 << 20  # bytes of a file that the store keeps
SMALL = 256 << 10  # bytes of an ignored file that is kept
SMALL_TOTAL = 4 << 20  # bytes of all of them
SMALL_COUNT = 500
SMALL_FOLDER = 100  # entries of an ignored folder whose files are kept one by one
ROOT_ENTRIES = 10_000  # of one folder that is not kept; a larger one is not compared
ALL_ENTRIES = 40_000
IGNORED = "ignored"
NESTED = "a separate repository"
OWN = "the repository itself"
LARGE = f"larger than {LARGEST >> 20} MB"
SPECIAL = "a pipe, socket or device"
UNREADABLE = "not readable"
# Tools make these folders again; keeping them file by file would only fill the report.
_CACHES = split_names(
    "__pycache__ node_modules .venv venv .tox .nox .cache .pytest_cache .mypy_cache .ruff_cache .gradle .next"
)

# Programs that run may hold these open; putting an old state in their place would harm.
_VOLATILE = (".log", ".pid", ".lock", ".swp", ".tmp", ".db", ".sqlite", ".sqlite3", "-wal", "-shm", "-journal")

Facts = tuple[int, ...]  # of one file: what changes when the file does


class Unkept(Struct, frozen=True):
    """Something that exists but is not kept: why, and a digest of its facts. `is_whole`: all of it was examined."""

    why: str
    digest: str
    is_whole: bool = True


class ProjectInventory(Struct, frozen=True):
    """The folders of a project with their modes, and what is not stored; names of such folders end in `/`."""

    folders: Mapping[str, int] = field(default_factory=dict)
    unkept: Mapping[str, Unkept] = field(default_factory=dict)
    small: Mapping[str, PathState] = field(default_factory=dict)  # content of small ignored files
    files: Mapping[str, Facts] = field(default_factory=dict)  # facts of the kept files

    def is_absent(self, name: str) -> bool:
        """Return True if nothing can have existed at this path: every folder above it was listed without it."""
        if name in self.unkept or f"{name}/" in self.unkept:
            return False
        return self.root_of(name) is None

    def root_of(self, name: str) -> str | None:
        """Return the folder that is not stored and contains the path, with a final slash."""
        at = name.find("/")
        while at >= 0:
            if name[: at + 1] in self.unkept:
                return name[: at + 1]
            at = name.find("/", at + 1)
        return None

    def existed(self, name: str) -> bool:
        """Return True if something is known to have existed at this path."""
        return name in self.files or name in self.unkept or name in self.folders


def facts_of(status: os.stat_result) -> Facts:
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


class Survey:
    """One walk through a project. `listed` are the names that git does not ignore."""

    def __init__(self, project: Path, listed: Iterable[str], known: ProjectInventory | None = None) -> None:
        self._project = str(project)
        self._listed = frozenset(listed)
        self._above = {above for name in self._listed for above in _above(name)}
        self._known = known or ProjectInventory()
        self._left = ALL_ENTRIES
        self._small_bytes = 0
        self.total = 0  # bytes of the kept files
        self.taken: list[str] = []
        self.modes: dict[str, int] = {}
        self._folders: dict[str, int] = {}
        self._unkept: dict[str, Unkept] = {}
        self._small: dict[str, PathState] = {}
        self._files: dict[str, Facts] = {}

    def take(self) -> ProjectInventory:
        """Walk through the project."""
        waiting = [""]
        while waiting:
            waiting += self._visit(waiting.pop())
        return ProjectInventory(self._folders, self._unkept, self._small, self._files)

    def _visit(self, folder: str) -> Iterator[str]:
        """One folder that holds kept files, or none at all; yields the folders to visit below it."""
        prefix = f"{folder}/" if folder else ""
        entries = _entries(os.path.join(self._project, folder))
        if entries is None:
            self._unkept[prefix] = Unkept(UNREADABLE, "", is_whole=False)
            return
        is_nested = bool(folder) and any(entry.name == ".git" for entry in entries)
        for entry in entries:
            name = prefix + entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError:
                self._unkept[name] = Unkept(UNREADABLE, "", is_whole=False)
                continue
            if not stat.S_ISDIR(status.st_mode):
                why = OWN if name == ".git" else NESTED if is_nested else IGNORED
                self._file(name, status, why)
            elif entry.name == ".git":
                self._unkept[f"{name}/"] = self._digest(name, NESTED if folder else OWN)
            elif name in self._above:
                self._folders[name] = stat.S_IMODE(status.st_mode)
                yield name
            else:
                self._other_folder(name, status)

    def _file(self, name: str, status: os.stat_result, why: str) -> None:
        is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
        is_closed = stat.S_ISREG(status.st_mode) and not self._is_readable(name, status)
        if name in self._listed and is_plain and not is_closed and status.st_size <= LARGEST:
            self.taken.append(name)
            self.total += status.st_size
            self._files[name] = facts_of(status)
            if stat.S_ISREG(status.st_mode):
                self.modes[name] = stat.S_IMODE(status.st_mode)
            return
        if not is_plain:
            why = SPECIAL
        elif is_closed:
            why = UNREADABLE
        elif name in self._listed:
            why = LARGE
        self._unkept[name] = Unkept(why, digest_file(name, facts_of(status)))
        if why == IGNORED and not name.endswith(_VOLATILE):
            self._keep(name, status)

    def _is_readable(self, name: str, status: os.stat_result) -> bool:
        is_ours = sys.platform != "win32" and status.st_uid == os.geteuid() and status.st_mode & stat.S_IRUSR
        return bool(is_ours) or os.access(os.path.join(self._project, name), os.R_OK)

    def _keep(self, name: str, status: os.stat_result) -> None:
        """Store the content of a small ignored file; an unchanged one is not read again."""
        if (
            status.st_size > SMALL
            or len(self._small) >= SMALL_COUNT
            or self._small_bytes + status.st_size > SMALL_TOTAL
        ):
            return
        before = self._known.small.get(name)
        if before is None or self._known.unkept.get(name) != self._unkept[name]:
            before = read_path_state(Path(self._project, name))
        if before.kind in ("file", "link"):
            self._small[name] = before
            self._small_bytes += status.st_size

    def _other_folder(self, name: str, status: os.stat_result) -> None:
        """Record a folder without stored files: empty, ignored, or a separate repository."""
        path = os.path.join(self._project, name)
        below = list(_walk(path, SMALL_FOLDER + 1))
        is_nested = os.path.lexists(os.path.join(path, ".git"))
        readable = [(inner, facts) for inner, facts in below if facts is not None]
        is_small = len(below) <= SMALL_FOLDER and len(readable) == len(below) and _entries(path) is not None
        is_empty = is_small and all(stat.S_ISDIR(facts.st_mode) for _, facts in readable)
        if not is_empty and (is_nested or not is_small or os.path.basename(name) in _CACHES):
            self._unkept[f"{name}/"] = self._digest(name, NESTED if is_nested else IGNORED)
            return
        self._folders[name] = stat.S_IMODE(status.st_mode)
        for inner, facts in readable:
            if stat.S_ISDIR(facts.st_mode):
                self._folders[f"{name}/{inner}"] = stat.S_IMODE(facts.st_mode)
            else:
                self._file(f"{name}/{inner}", facts, IGNORED)

    def _digest(self, name: str, why: str) -> Unkept:
        """Hash the metadata of everything in a folder; for a large one only the folder and its direct entries."""
        skip = skipped_in(name, why)
        digest = digest_folder(os.path.join(self._project, name), why, min(ROOT_ENTRIES, self._left), skip)
        self._left = max(0, self._left - ROOT_ENTRIES) if not digest[0].is_whole else self._left - digest[1]
        return digest[0]


def digest_folder(path: str, why: str, most: int = ROOT_ENTRIES, skip: str = "") -> tuple[Unkept, int]:
    """Return the digest of a folder that is not stored, and the number of examined entries."""
    rows: list[tuple[str, Facts]] = []
    is_whole = True
    for inner, facts in _walk(path, most + 1, skip):
        if facts is None:
            is_whole = False
        else:
            rows.append((inner, facts_of(facts)))
    count = len(rows)
    if count > most:
        is_whole, rows = False, [row for row in rows if "/" not in row[0]]
    return Unkept(why, _digest(rows), is_whole), count


def skipped_in(name: str, why: str) -> str:
    """Return the part of a folder that is skipped: objects of a repository, which only grow."""
    if os.path.basename(name.rstrip("/")) == ".git":
        return "objects"
    return ".git/objects" if why == NESTED else ""


def digest_file(name: str, facts: Facts) -> str:
    return _digest([(name, facts)])


def _digest(rows: Iterable[tuple[str, Facts]]) -> str:
    """Hash files with all metadata, folders without times: their listing says more."""
    digest = sha256()
    for name, facts in sorted(rows):
        counted = facts[:1] if stat.S_ISDIR(facts[0]) else facts
        digest.update(os.fsencode(f"{name}\0{counted}\0"))
    return digest.hexdigest()


def _walk(path: str, most: int, skip: str = "") -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield the content of a folder breadth first, at most `most` entries; None stands for what cannot be examined."""
    waiting, count = [""], 0
    while waiting:
        following: list[str] = []
        for folder in waiting:
            entries = _entries(os.path.join(path, folder))
            if entries is None:
                yield folder or ".", None
                continue
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if name == skip:
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    yield name, None
                    continue
                yield name, status
                count += 1
                if count >= most:
                    return
                if stat.S_ISDIR(status.st_mode):
                    following.append(name)
        waiting = following


def _entries(path: str) -> list[os.DirEntry[str]] | None:
    """Return the entries of a folder by name; None if it cannot be listed."""
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return None


def _above(name: str) -> Iterator[str]:
    at = name.find("/")
    while at >= 0:
        yield name[:at]
        at = name.find("/", at + 1)
