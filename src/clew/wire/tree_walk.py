"""Walking: every transcript below a folder of Claude Code, with what the file system says of it.

No file is opened, and nothing heavy is imported: this runs before every search.
"""

from __future__ import annotations

import os
from stat import S_ISREG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class TranscriptFile(NamedTuple):
        """A transcript: where, of which session and agent, and its state."""

        path: str
        folder: str
        session: str
        agent: str
        size: int
        mtime_ns: int
        inode: int
else:
    from collections import namedtuple

    TranscriptFile = namedtuple("Found", "path folder session agent size mtime_ns inode")


def walk(root: str, missed: list[str] | None = None) -> list[TranscriptFile]:
    """Sessions and agents in all layouts; a flat agent file does not tell its session by its name.

    What could not be looked at, though it may be there, is told to `missed`: a walk that missed something was not whole.
    """
    missed = [] if missed is None else missed
    found: list[TranscriptFile] = []
    if not os.path.isdir(root):
        missed.append(root)
    for project in _entries(os.path.join(root, "projects"), missed):
        if not _is_text(project.path):
            missed.append(project.path)
        elif _is_folder(project, missed):
            _project(project.path, project.name, found, missed)
    return found


def walk_side(root: str) -> list[TranscriptFile]:
    """Todo lists, tasks (a folder for each session) and plans; `folder` says which: todos, tasks or plans.

    Links are not followed. The session of a plan is not known by its name.
    """
    found: list[TranscriptFile] = []
    for path, name, stat in _plain_files(os.path.join(root, "todos"), ".json"):
        owner, _, agent = name[:-5].partition("-agent-")
        if stat.st_size > 2:  # "[]" is what most of them hold
            agent = "" if agent == owner else agent
            found.append(TranscriptFile(path, "todos", owner, agent, stat.st_size, stat.st_mtime_ns, 0))
    tasks = os.path.join(root, "tasks")
    for name in _plain_folders(tasks):
        folder = os.path.join(tasks, name)
        states = [stat for _, _, stat in _plain_files(folder, ".json")]
        if states:
            size, newest = sum(stat.st_size for stat in states), max(stat.st_mtime_ns for stat in states)
            found.append(TranscriptFile(folder, "tasks", name, "", size, newest, 0))
    for path, name, stat in _plain_files(os.path.join(root, "plans"), ".md"):
        agent = name[:-3].partition("-agent-")[2]
        found.append(TranscriptFile(path, "plans", "", agent, stat.st_size, stat.st_mtime_ns, 0))
    return found


def _plain_files(folder: str, suffix: str) -> list[tuple[str, str, os.stat_result]]:
    """Regular files of a folder by name; neither the folder nor the files may be links."""
    found = []
    for entry in [] if os.path.islink(folder) else _entries(folder, []):
        if entry.name.endswith(suffix) and _is_text(entry.name):
            try:
                stat = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if S_ISREG(stat.st_mode):
                found.append((entry.path, entry.name, stat))
    return sorted(found)


def _plain_folders(folder: str) -> list[str]:
    entries = [] if os.path.islink(folder) else _entries(folder, [])
    return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and _is_text(entry.name))


def _project(path: str, folder: str, found: list[TranscriptFile], missed: list[str]) -> None:
    for entry in _entries(path, missed):
        name = entry.name
        if name.endswith(".jsonl"):
            agent = _agent(name)
            session = "" if agent else name[:-6]
            if agent or is_uuid(session):
                _add(entry, (folder, session, agent), found, missed)
        elif is_uuid(name) and _is_folder(entry, missed):
            _agents(os.path.join(entry.path, "subagents"), folder, name, found, missed)
        elif name == "subagents" and _is_folder(entry, missed):
            _agents(entry.path, folder, "", found, missed)


def _agents(path: str, folder: str, session: str, found: list[TranscriptFile], missed: list[str]) -> None:
    for entry in _entries(path, missed):
        agent = _agent(entry.name)
        if agent:
            _add(entry, (folder, session, agent), found, missed)
        elif not entry.name.endswith((".json", ".jsonl")) and entry.is_dir(follow_symlinks=False):  # links may loop
            _agents(entry.path, folder, session, found, missed)


def _is_text(path: str) -> bool:
    """Whether a path is valid UTF-8, as every database and output needs it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_folder(entry: os.DirEntry[str], missed: list[str]) -> bool:
    """Whether an entry is a folder, or a link to one; a link that loops, or leads where we may not look, is missed."""
    try:
        return entry.is_dir()
    except OSError:
        missed.append(entry.path)
        return False


def _add(entry: os.DirEntry[str], names: tuple[str, str, str], found: list[TranscriptFile], missed: list[str]) -> None:
    try:
        stat = entry.stat()
    except FileNotFoundError:  # gone since the folder was read
        return
    except OSError:
        missed.append(entry.path)
        return
    if S_ISREG(stat.st_mode):
        found.append(TranscriptFile(entry.path, *names, stat.st_size, stat.st_mtime_ns, stat.st_ino & _LARGEST))


def _agent(name: str) -> str:
    return name[6:-6] if name.startswith("agent-") and name.endswith(".jsonl") else ""


def is_uuid(name: str) -> bool:
    """Whether a name is that of a session."""
    return len(name) == 36 and name[8] == name[13] == name[18] == name[23] == "-" and not name.strip(_HEX)


_HEX = "0123456789abcdefABCDEF-"
_LARGEST = (1 << 63) - 1  # of what a database keeps as a number


def _entries(path: str, missed: list[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        missed.append(path)
        return []
