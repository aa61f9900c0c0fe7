"""Where things lie: the folders of Claude Code, its names for projects, and how to find what was asked for.

Listing opens no file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal
from unicodedata import normalize

from msgspec import Struct

from clew.errors import Ambiguous, NotFound
from clew.system.environment import claude_home
from clew.wire.entry import Blank, Entry, entries, parse
from clew.wire.line import lines, pieces
from clew.wire.overflow_files import list_overflows, named_after, overflow_at
from clew.wire.project_slug import DRIVE, LONGEST
from clew.wire.project_slug import slug as slug
from clew.wire.project_slug import slugs as slugs
from clew.wire.project_slug import unslug as unslug
from clew.wire.side_files import INDEX_NAME, AgentMeta, is_plain, read_index, read_meta

Layout = Literal["nested", "flat", "project"]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_PATH = re.compile(r"\.{1,2}([\\/]|$)|~|[\\/]|[A-Za-z]:")  # never meant as a part of one
_AGENT = re.compile(r"agent-(.+)\.jsonl")
_HEAD = 1 << 16  # a first look at a file
_REACH = 1 << 20  # and how far it goes on looking
_WITNESSES = 8  # files that are asked for their working directory before the first answer is believed


def claude_dir(override: str | os.PathLike[str] | None = None) -> Path:
    """The folder of Claude Code: as given, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return Path(claude_home(override))


def _expand(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - where a Path would raise, this leaves `~unknown` as it is


# -- what is there


class Tree(Struct, frozen=True):
    """Everything under the folder of Claude Code."""

    root: Path

    def projects(self) -> list[Project]:
        return [Project(Path(e.path)) for e in _scan(self.root / "projects") if _holds(e.is_dir)]

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
        """The lists of a session: its own and those of its agents, `<session>-agent-<agent>.json`."""
        found = _files(self.root / "todos", ".json")
        return [p for p in found if p.stem == session_id or p.name.startswith(f"{session_id}-agent-")]

    def tasks(self, session_id: str) -> list[Path]:
        found = _files(self.root / "tasks" / session_id, ".json") if is_plain(session_id) else []
        return sorted(found, key=lambda p: (not p.stem.isdecimal(), len(p.stem), p.stem))

    def file_history(self, session_id: str) -> list[Path]:
        return _files(self.root / "file-history" / session_id) if is_plain(session_id) else []

    def recalls_dir(self, *, create: bool = False) -> Path:
        """Where saved recalls lie; made only when one is about to be saved."""
        folder = self.root / "recalls"
        if create:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


class ProjectPath(Struct, frozen=True):
    path: str
    source: Literal["index", "cwd", "guess"]


class Project(Struct, frozen=True):
    """A folder of sessions."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def sessions(self) -> list[SessionFile]:
        """Every session by name, the files of 0 bytes too: those are `is_empty` and hold no conversation."""
        return list(_sessions(self.folder))

    def agents(self) -> list[AgentFile]:
        """Every agent in every layout that there was."""
        found = [*_agents(self.folder, self.folder, "flat")]
        found += _agents(self.folder / "subagents", self.folder, "project")
        for entry in _scan(self.folder):
            if _UUID.fullmatch(entry.name):
                found += _agents(Path(entry.path) / "subagents", self.folder, "nested")
        return sorted(found, key=lambda agent: str(agent.path))

    @property
    def memory(self) -> Path | None:
        return _existing(self.folder / "memory" / "MEMORY.md")

    @property
    def index(self) -> Path | None:
        return _existing(self.folder / INDEX_NAME)

    def path(self) -> ProjectPath:
        """Where the project itself lies: the index knows, or a session, or the folder's name suggests it."""
        index = read_index(self.folder / INDEX_NAME)
        if index and index.original_path:
            return ProjectPath(index.original_path, "index")
        if cwd := self._cwd():
            return ProjectPath(cwd, "cwd")
        if index and (listed := [e.project_path for e in index.entries if e.project_path]):
            return ProjectPath(listed[0], "index")
        return ProjectPath(unslug(self.name), "guess")

    def _cwd(self) -> str | None:
        """The first working directory that fits the folder's name, else the first: a session may move."""
        first = None
        for cwd in islice(self._cwds(), _WITNESSES):
            if self.name in slugs(cwd):
                return cwd
            first = first or cwd
        return first

    def _cwds(self) -> Iterator[str]:
        for list_files in (self.sessions, self.agents):
            for file in list_files():
                yield from islice((entry.cwd for entry in _head(file.path) if entry.cwd), 1)


class SessionFile(Struct, frozen=True):
    """The file of one session; its name is its identity."""

    path: Path
    project_folder: Path
    size: int
    mtime_ns: int

    @property
    def id(self) -> str:
        return self.path.stem

    @property
    def is_empty(self) -> bool:
        return self.size == 0

    @property
    def folder(self) -> Path:
        """The folder for what belongs to the session, whether or not it exists."""
        return self.path.with_suffix("")

    def agents(self) -> list[AgentFile]:
        """Its agents: those in its folder, and those elsewhere that name it."""
        found = [*_agents(self.folder / "subagents", self.project_folder, "nested")]
        loose = [*_agents(self.project_folder, self.project_folder, "flat")]
        loose += _agents(self.project_folder / "subagents", self.project_folder, "project")
        found += [agent for agent in loose if (agent.session_id or "").lower() == self.id.lower()]
        return sorted(found, key=lambda agent: str(agent.path))

    def tool_results(self) -> list[Path]:
        """Outputs that were too long for the transcript, of the session and of its agents."""
        names = list_overflows(self.folder)
        return [found.path for name in names if (found := overflow_at(self.folder, name))]

    def tool_result(self, tool_use_id: str) -> Path | None:
        """The output that belongs to a call."""
        found = {path.name: path for path in self.tool_results()}
        name = named_after(found, tool_use_id)
        return found[name] if name else None


class AgentFile(Struct, frozen=True):
    """The file of one agent, in one of three layouts."""

    path: Path
    layout: Layout
    project_folder: Path
    size: int
    mtime_ns: int

    @property
    def id(self) -> str:
        return self.path.stem.removeprefix("agent-")

    @property
    def session_id(self) -> str | None:
        """The session that began it: by its place, else by what its first lines say."""
        if self.layout == "nested":
            return self.path.relative_to(self.project_folder).parts[0]
        return _named_session(self.path, self.size, self.mtime_ns)

    @property
    def run(self) -> str | None:
        """The workflow run it was part of."""
        parts = self.path.relative_to(self.project_folder).parts[:-1]
        after = parts.index("workflows") + 1 if "workflows" in parts else len(parts)
        return parts[after] if after < len(parts) else None

    def meta(self) -> AgentMeta | None:
        return read_meta(self.path.with_suffix(".meta.json"))

    @property
    def is_warmup(self) -> bool:
        """A stub that the program left: the word Warmup and no second line."""
        return is_warmup(self.path, self.size)


def is_warmup(path: str | os.PathLike[str], size: int) -> bool:
    """Whether the file of an agent is a stub that the program left: the word Warmup and no second line."""
    if size > _HEAD:
        return False
    items = islice((i for i in map(parse, lines(path)) if not isinstance(i, Blank)), 2)
    return [i.text if isinstance(i, Entry) else None for i in items] == ["Warmup"]


@lru_cache(maxsize=1 << 14)
def _named_session(path: Path, size: int, mtime_ns: int) -> str | None:
    """The session that a file names in its first lines; asked once for each state of the file."""
    return next((entry.session_id for entry in _head(path) if entry.session_id), None)


def session_at(path: str | os.PathLike[str]) -> SessionFile:
    """A session by its path, wherever it lies."""
    file = Path(path)
    stat = file.stat()
    return SessionFile(file, file.parent, stat.st_size, stat.st_mtime_ns)


# -- what a person asks for


def find_session(tree: Tree, asked: str) -> SessionFile:
    """A session by its id, by the beginning of it, or by a path. One with content comes before empty ones."""
    if asked.endswith(".jsonl") and os.path.isfile(path := _expand(asked)):
        return session_at(path)
    beginning = asked.removesuffix(".jsonl").lower()
    projects = tree.projects()
    found = [file for p in projects for file in _sessions(p.folder, beginning)] if beginning else []
    found = [file for file in found if not file.is_empty] or found
    if len(found) == 1:
        return found[0]
    if not found:
        near = {file.id[: len(beginning)].lower(): file.id for p in projects for file in p.sessions()}
        raise NotFound(asked, near=_near(beginning, near))
    ids = sorted({file.id for file in found})
    raise Ambiguous(asked, ids if len(ids) > 1 else sorted(str(file.path) for file in found))


def find_project(tree: Tree, asked: str) -> Project:
    """A project by its path, by the name of its folder, or by a part of its path that no other has."""
    by_name = {project.name: project for project in tree.projects()}
    wanted = _wanted(asked)
    names = [asked, *(name for path in wanted for name in slugs(path))]
    if exact := next((by_name[name] for name in names if name in by_name), None):
        return exact
    paths = {project: project.path().path for project in by_name.values()}
    found = _at(wanted, names, paths) or ([] if _PATH.match(asked) else _holding(asked, paths))
    if len(found) > 1:
        raise Ambiguous(asked, [paths[p] for p in found], kind="projects")
    if not found:
        near = _near(_last(asked), {_last(path): path for path in paths.values()})
        raise NotFound(asked, kind="project", near=near)
    return found[0]


def _wanted(asked: str) -> list[str]:
    """The paths that may be meant; none if it does not look like one."""
    if os.name != "nt" and (DRIVE.match(asked) or asked.startswith("\\\\")):
        return [asked.rstrip("/\\")]
    if _PATH.match(asked) or "/" in asked:
        full = Path(_expand(asked))
        return [str(full.resolve()), os.path.normpath(full.absolute())]
    return []


def _at(wanted: list[str], names: list[str], paths: dict[Project, str]) -> list[Project]:
    """The projects that say they lie there, else those whose name begins so or differs in case alone."""
    plain = {_plain_path(path) for path in wanted}
    if same := [p for p, path in paths.items() if _plain_path(path) in plain]:
        return same
    cut = tuple(f"{name}-" for name in names if len(name) == LONGEST)
    folded = {name.lower() for name in names if any(map(DRIVE.match, wanted))}
    return [p for p in paths if p.name.startswith(cut) or p.name.lower() in folded]


def _holding(asked: str, paths: dict[Project, str]) -> list[Project]:
    """The projects with this in their path or name; those that are called so come first and alone."""
    part = asked.lower()
    found = [p for p, path in paths.items() if part and (part in path.lower() or part in p.name.lower())]
    return [p for p in found if _last(paths[p]) == part] or found


def _last(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("/\\"))[-1].lower()


def _plain_path(path: str) -> str:
    """A path for comparing: one form of letters, no final separator, and no case where Windows sees none."""
    path = normalize("NFC", path).rstrip("/\\") or path
    return path.replace("/", "\\").lower() if DRIVE.match(path) else path


def _near(asked: str, names: dict[str, str]) -> list[str]:
    from difflib import get_close_matches

    return [names[key] for key in get_close_matches(asked, sorted(names), n=3)]


# -- looking


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, by name. One that is not there, or that we may not read, holds nothing; `walk` reports it."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _holds(check: Callable[[], bool]) -> bool:
    """`is_dir` or `is_file` of an entry; False for a link that loops."""
    try:
        return check()
    except OSError:
        return False


def _files(folder: Path, suffix: str = "") -> list[Path]:
    return [Path(e.path) for e in _scan(folder) if e.name.endswith(suffix) and _holds(e.is_file)]


def _existing(path: Path) -> Path | None:
    return path if os.path.isfile(path) else None


def _sessions(folder: Path, beginning: str = "") -> Iterator[SessionFile]:
    for entry in _scan(folder):
        name, _, suffix = entry.name.rpartition(".")
        is_session = suffix == "jsonl" and _UUID.fullmatch(name) and name.lower().startswith(beginning)
        if is_session and _holds(entry.is_file) and (stat := _stat(entry)):
            yield SessionFile(Path(entry.path), folder, stat.st_size, stat.st_mtime_ns)


def _agents(folder: Path, project: Path, layout: Layout) -> Iterator[AgentFile]:
    for entry in _scan(folder):
        if _AGENT.fullmatch(entry.name) and _holds(entry.is_file):
            if stat := _stat(entry):
                yield AgentFile(Path(entry.path), layout, project, stat.st_size, stat.st_mtime_ns)
        elif layout != "flat" and entry.is_dir(follow_symlinks=False):
            yield from _agents(Path(entry.path), project, layout)


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    """The state of a file, or None if it vanished since it was listed, or cannot be looked at."""
    try:
        return entry.stat()
    except OSError:
        return None


def _head(path: Path) -> Iterator[Entry]:
    """The first entries of a file; none of one that cannot be read."""
    try:
        for buffer, at in pieces(path, size=_HEAD):
            yield from entries(map(parse, lines(buffer)))
            if at + len(buffer) >= _REACH:
                return
    except OSError:
        return
