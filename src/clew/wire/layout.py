"""List sessions, agents and projects in the folder of Claude Code.

Listing opens no file.
"""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache
from itertools import islice
from pathlib import Path
from stat import S_ISREG

from clew.system.environment import claude_home
from clew.system.record import Record
from clew.wire import line, overflow_files, side_files
from clew.wire.project_slug import slug as slug
from clew.wire.project_slug import slugs as slugs
from clew.wire.project_slug import unslug as unslug
from clew.wire.tree_walk import is_uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from clew.wire.entry import Entry
    from clew.wire.side_files import AgentMeta

    Layout = Literal["nested", "flat", "project"]
    _AgentNames = tuple[tuple[str, ...], tuple[str, ...]]  # of files of agents, and of folders

_AGENT = re.compile(r"agent-(.+)\.jsonl")
_HEAD = 1 << 16  # bytes of the first read of a file
_REACH = 1 << 20  # bytes to read at most in search of a field
_SETTLING = 3 * 10**9  # nanoseconds; the coarsest clock of a file system, that of FAT, has steps of two seconds
_MAX_CWD_FILES = 8  # files to read for a working directory before the first is accepted


def claude_dir(override: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of Claude Code: the override, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return Path(claude_home(override))


# -- the tree


class Tree(Record):
    """The folder of Claude Code and everything in it."""

    __slots__ = ("root",)

    def __init__(self, root: Path) -> None:
        self.root = root

    def projects(self) -> list[Project]:
        return [Project(Path(e.path)) for e in _list_folder(self.root / "projects") if _check_entry(e.is_dir)]

    @property
    def history(self) -> Path:
        return self.root / "history.jsonl"

    @property
    def stats(self) -> Path:
        return self.root / "stats-cache.json"

    @property
    def settings(self) -> Path:
        return self.root / "settings.json"

    def plans(self) -> list[Path]:
        return _files(self.root / "plans", ".md")

    def todos(self, session_id: str) -> list[Path]:
        """Return the todo lists of a session: its own and those of its agents, `<session>-agent-<agent>.json`."""
        files = _files(self.root / "todos", ".json")
        return [p for p in files if p.stem == session_id or p.name.startswith(f"{session_id}-agent-")]

    def tasks(self, session_id: str) -> list[Path]:
        files = _files(self.root / "tasks" / session_id, ".json") if side_files.is_bare_name(session_id) else []
        return sorted(files, key=lambda p: (not p.stem.isdecimal(), len(p.stem), p.stem))

    def file_history(self, session_id: str) -> list[Path]:
        return _files(self.root / "file-history" / session_id) if side_files.is_bare_name(session_id) else []

    def recalls_dir(self, *, create: bool = False) -> Path:
        """Return the folder of saved searches; it is created only when one is about to be saved."""
        folder = self.root / "recalls"
        if create:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


class ProjectPath(Record):
    __slots__ = ("path", "source")

    def __init__(self, path: str, source: Literal["index", "cwd", "guess"]) -> None:
        self.path, self.source = path, source


class Project(Record):
    """A folder of sessions."""

    __slots__ = ("folder",)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        return self.folder.name

    def sessions(self) -> list[SessionFile]:
        """Return every session by name, including files of 0 bytes: these are `is_empty` and contain no
        conversation.
        """
        return list(list_sessions(self.folder))

    def session_ids(self) -> set[str]:
        """Return the ids of the sessions in lower case. This does not inspect the files, unlike `sessions`."""
        return {name.lower() for name, entry in _session_entries(self.folder)}

    def agents(self) -> list[AgentFile]:
        """Return every agent in every layout that has existed."""
        agents = [*_agents(self.folder, self.folder, "flat")]
        agents += _agents(self.folder / "subagents", self.folder, "project")
        for entry in _list_folder(self.folder):
            if _is_id(entry.name):
                agents += _agents(Path(entry.path) / "subagents", self.folder, "nested")
        return sorted(agents, key=lambda agent: agent.location)

    @property
    def memory(self) -> Path | None:
        return _existing(self.folder / "memory" / "MEMORY.md")

    @property
    def index(self) -> Path | None:
        return _existing(self.folder / side_files.INDEX_NAME)

    def path(self) -> ProjectPath:
        """Return the folder of the project itself: from the index, else from a session, else guessed from the name."""
        index = side_files.read_index(self.folder / side_files.INDEX_NAME)
        if index and index.original_path:
            return ProjectPath(index.original_path, "index")
        if cwd := self._cwd():
            return ProjectPath(cwd, "cwd")
        if index and (listed := [e.project_path for e in index.entries if e.project_path]):
            return ProjectPath(listed[0], "index")
        return ProjectPath(unslug(self.name), "guess")

    def _cwd(self) -> str | None:
        """Return the first working directory that fits the folder's name, else the first one: a session can change
        it.
        """
        first = None
        for cwd in islice(self._cwds(), _MAX_CWD_FILES):
            if self.name in slugs(cwd):
                return cwd
            first = first or cwd
        return first

    def _cwds(self) -> Iterator[str]:
        for list_files in (self.sessions, self.agents):
            for file in list_files():
                yield from islice(read_cwds(file.path), 1)


class SessionFile(Record):
    """The file of one session; its name is the session id. `inode` is 0 where it is not known."""

    __slots__ = ("inode", "location", "mtime_ns", "project_folder", "size")

    def __init__(self, path: str | Path, project_folder: Path, size: int, mtime_ns: int, inode: int = 0) -> None:
        self.location = os.fspath(path)  # a Path takes three times the memory, and there can be 100,000 files
        self.project_folder = project_folder
        self.size, self.mtime_ns, self.inode = size, mtime_ns, inode

    @property
    def path(self) -> Path:
        return Path(self.location)

    @property
    def id(self) -> str:
        return _stem(self.location)

    @property
    def is_empty(self) -> bool:
        return self.size == 0

    @property
    def folder(self) -> Path:
        """The folder for files that belong to the session, whether or not it exists."""
        return self.path.with_suffix("")

    def agents(self) -> list[AgentFile]:
        """Return the session's agents: those in its folder, and those elsewhere that name it."""
        agents = [*_agents(self.folder / "subagents", self.project_folder, "nested")]
        loose = [*_agents(self.project_folder, self.project_folder, "flat")]
        loose += _agents(self.project_folder / "subagents", self.project_folder, "project")
        agents += [agent for agent in loose if (agent.session_id or "").lower() == self.id.lower()]
        return sorted(agents, key=lambda agent: agent.location)

    def tool_results(self) -> list[Path]:
        """Return the outputs that were too long for the transcript, of the session and of its agents."""
        return [output.path for output in overflow_files.OverflowFolder(self.folder)]

    def tool_result(self, tool_use_id: str) -> Path | None:
        """Return the output that belongs to a call."""
        output = overflow_files.OverflowFolder(self.folder).of_call(tool_use_id)
        return output.path if output else None


class AgentFile(Record):
    """The file of one agent, in one of three layouts."""

    __slots__ = ("layout", "location", "mtime_ns", "project_folder", "size")

    def __init__(self, path: str | Path, layout: Layout, project_folder: Path, size: int, mtime_ns: int) -> None:
        self.location = os.fspath(path)
        self.layout, self.project_folder = layout, project_folder
        self.size, self.mtime_ns = size, mtime_ns

    @property
    def path(self) -> Path:
        return Path(self.location)

    @property
    def id(self) -> str:
        return _stem(self.location).removeprefix("agent-")

    @property
    def session_id(self) -> str | None:
        """The session that started the agent: from the path, else from its first lines."""
        if self.layout == "nested":
            return self.path.relative_to(self.project_folder).parts[0]
        return _named_session(self.path, self.size, self.mtime_ns)

    @property
    def run(self) -> str | None:
        """The workflow run that the agent was part of."""
        parts = self.path.relative_to(self.project_folder).parts[:-1]
        after = parts.index("workflows") + 1 if "workflows" in parts else len(parts)
        return parts[after] if after < len(parts) else None

    def meta(self) -> AgentMeta | None:
        return side_files.read_meta(self.path.with_suffix(".meta.json"))

    @property
    def is_warmup(self) -> bool:
        """A stub that the program left: the word Warmup and no second line."""
        return is_warmup(self.location, self.size)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def is_warmup(path: str | os.PathLike[str], size: int) -> bool:
    """Return True if the file of an agent is a stub that the program left: the word Warmup and no second line."""
    from clew.wire.entry import Blank, Entry, parse_line

    if size > _HEAD:
        return False
    items = islice((i for i in map(parse_line, line.lines(path)) if not isinstance(i, Blank)), 2)
    return [i.text if isinstance(i, Entry) else None for i in items] == ["Warmup"]


@lru_cache(maxsize=1 << 14)
def _named_session(path: Path, size: int, mtime_ns: int) -> str | None:
    """Return the session that the first lines of a file name; cached for each state of the file."""
    return next((entry.session_id for entry in _first_entries(path) if entry.session_id), None)


def session_at(path: str | os.PathLike[str]) -> SessionFile:
    """Return the session file at any path."""
    file = Path(path)
    stat = file.stat()
    return SessionFile(file, file.parent, stat.st_size, stat.st_mtime_ns, stat.st_ino)


# -- listing folders


def _list_folder(folder: Path, prefix: str = "") -> list[os.DirEntry[str]]:
    """Return the entries of a folder by name; none if it is missing or unreadable (`list_transcripts` reports that).

    `prefix` is the beginning of the names in lower case.
    """
    try:
        with os.scandir(folder) as iterator:
            matching = [entry for entry in iterator if entry.name.lower().startswith(prefix)] if prefix else iterator
            return sorted(matching, key=lambda entry: entry.name)
    except OSError:
        return []


def _check_entry(check: Callable[[], bool]) -> bool:
    """Return `is_dir` or `is_file` of an entry; False for a link that loops."""
    try:
        return check()
    except OSError:
        return False


def _files(folder: Path, suffix: str = "") -> list[Path]:
    return [Path(e.path) for e in _list_folder(folder) if e.name.endswith(suffix) and _check_entry(e.is_file)]


def _existing(path: Path) -> Path | None:
    return path if os.path.isfile(path) else None


def list_sessions(folder: Path, prefix: str = "") -> Iterator[SessionFile]:
    for name, entry in _session_entries(folder, prefix):
        if name.lower().startswith(prefix) and (stat := _stat(entry)):
            yield SessionFile(entry.path, folder, stat.st_size, stat.st_mtime_ns, stat.st_ino)


def _session_entries(folder: Path, prefix: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    for entry in _list_folder(folder, prefix):
        name, _, suffix = entry.name.rpartition(".")
        if suffix == "jsonl" and _is_id(name) and _check_entry(entry.is_file):
            yield name, entry


def _is_id(name: str) -> bool:
    return is_uuid(name) and name.count("-") == 4


def _agents(folder: Path, project: Path, layout: Layout) -> Iterator[AgentFile]:
    """Yield the agents in a folder; in the nested and project layouts also those in the folders below it."""
    is_deep = layout != "flat"
    names, folders = _find_agents(folder, is_deep) if layout == "nested" else _find_agents_once(folder, is_deep)
    for name in names:
        path = folder / name
        try:
            stat = path.stat()
        except OSError:  # it vanished, or cannot be inspected
            continue
        if S_ISREG(stat.st_mode):
            yield AgentFile(path, layout, project, stat.st_size, stat.st_mtime_ns)
    for name in folders:
        yield from _agents(folder / name, project, layout)


def _find_agents_once(folder: Path, is_deep: bool) -> _AgentNames:
    """Return `_find_agents` of a folder that many sessions share, without listing it for each of them.

    The list is kept for a time of the folder, which changes whenever a name in it does; but only if that time is so long
    ago that the next change cannot have the same one.
    """
    try:
        stat = folder.stat()
    except OSError:
        return (), ()
    if abs(time.time_ns() - stat.st_mtime_ns) < _SETTLING:
        return _find_agents(folder, is_deep)
    return _find_agents_in_state(folder, is_deep, stat.st_dev, stat.st_ino, stat.st_mtime_ns)


@lru_cache(maxsize=1 << 12)
def _find_agents_in_state(folder: Path, is_deep: bool, *state: int) -> _AgentNames:
    return _find_agents(folder, is_deep)


def _find_agents(folder: Path, is_deep: bool) -> _AgentNames:
    """Return the names of the files of agents in a folder and, if it `is_deep`, of the folders in it."""
    entries = _list_folder(folder)
    names = tuple(entry.name for entry in entries if _AGENT.fullmatch(entry.name))
    folders = (entry.name for entry in entries if entry.is_dir(follow_symlinks=False)) if is_deep else ()
    return names, tuple(folders)


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return the state of a file, or None if it vanished since it was listed, or cannot be inspected."""
    try:
        return entry.stat()
    except OSError:
        return None


def read_cwds(path: Path) -> Iterator[str]:
    """Yield the working directory of each of the first entries of a file."""
    return (entry.cwd for entry in _first_entries(path) if entry.cwd)


def _first_entries(path: Path) -> Iterator[Entry]:
    """Yield the first entries of a file; none if it cannot be read."""
    from clew.wire.entry import entries, parse_line

    try:
        for buffer, at in line.pieces(path, size=_HEAD):
            yield from entries(map(parse_line, line.lines(buffer)))
            if at + len(buffer) >= _REACH:
                return
    except OSError:
        return
