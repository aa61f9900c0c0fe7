"""List every transcript in a folder of Claude Code, with its size and modification time.

No file is opened, and imports are light: this runs before every search.
"""

from __future__ import annotations

import os
from binascii import crc32  # the same as zlib's, but loads faster
from stat import S_ISDIR, S_ISREG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    class TranscriptFile(NamedTuple):
        """A transcript: its path, session and agent, and the state of the file."""

        path: str
        folder: str
        session: str
        agent: str
        size: int
        mtime_ns: int
        inode: int
        ctime_ns: int = 0  # changes with every change of the file, even if its mtime is set back

    FileState = tuple[int, int, int, int]  # inode, size, mtime, ctime

    class OutputFile(NamedTuple):
        """A long output in `tool-results`: its name and the state of the file."""

        name: str
        size: int
        mtime_ns: int
else:
    from collections import namedtuple

    TranscriptFile = namedtuple(
        "TranscriptFile", "path folder session agent size mtime_ns inode ctime_ns", defaults=(0,)
    )
    OutputFile = namedtuple("OutputFile", "name size mtime_ns")


def list_transcripts(
    root: str,
    missed: list[str] | None = None,
    outputs: dict[str, int] | None = None,
    known: dict[str, FileState] | None = None,
) -> list[TranscriptFile]:
    """List sessions and agents in all layouts; the name of a flat agent file does not contain its session.

    Paths that exist but could not be inspected are appended to `missed`: then the list is incomplete. `outputs`
    receives the folders of sessions with long outputs, each with `hash_outputs` of them. `known` are states of files by
    path: a file that still has its state is not listed, and every file on disk is removed from `known`.
    """
    return list(iter_transcripts(root, missed, outputs, known))


def iter_transcripts(
    root: str,
    missed: list[str] | None = None,
    outputs: dict[str, int] | None = None,
    known: dict[str, FileState] | None = None,
) -> Iterator[TranscriptFile]:
    """Yield the files of `list_transcripts`, project by project, for those who do not keep all of them."""
    walk = _Walk([] if missed is None else missed, outputs, {} if known is None else known)
    if not os.path.isdir(root):
        walk.missed.append(root)
    for project in _list_folder(os.path.join(root, "projects"), walk.missed):
        if not is_utf8(project.path):
            walk.missed.append(project.path)
        elif _is_folder(project, walk.missed):
            walk.add_project(project.path, project.name)
            yield from walk.files
            walk.files.clear()


def find_unlisted(root: str) -> list[str]:
    """Return the paths that exist but could not be inspected, with the walk of `list_transcripts`; no file is kept."""
    missed: list[str] = []
    for _ in iter_transcripts(root, missed):
        pass
    return missed


def list_project(path: str) -> list[TranscriptFile]:
    """List the sessions and agents of one project folder."""
    walk = _Walk([], None, {})
    walk.add_project(path, os.path.basename(path))
    return walk.files


def list_outputs(folder: str) -> list[OutputFile]:
    """List the long outputs in a session's folder by name; neither it nor `tool-results` may be a link."""
    return [] if os.path.islink(folder) else _list_outputs(folder)


def _list_outputs(folder: str) -> list[OutputFile]:
    files = _regular_files(f"{folder}{os.sep}tool-results", "")
    return [OutputFile(name, stat.st_size, stat.st_mtime_ns) for _, name, stat in files]


def hash_outputs(files: list[OutputFile]) -> int:
    """Return a number that differs if the names, sizes or times of long outputs differ."""
    return crc32("".join([f"{name}/{size}/{time}/" for name, size, time in files]).encode())


def list_side_files(root: str) -> list[TranscriptFile]:
    """List todo lists, tasks (a folder per session) and plans; `folder` is "todos", "tasks" or "plans".

    Links are not followed. The name of a plan does not contain its session.
    """
    files: list[TranscriptFile] = []
    for path, name, stat in _regular_files(os.path.join(root, "todos"), ".json"):
        owner, _, agent = name[:-5].partition("-agent-")
        if stat.st_size > 2:  # most contain only "[]"
            agent = "" if agent == owner else agent
            files.append(TranscriptFile(path, "todos", owner, agent, stat.st_size, stat.st_mtime_ns, 0))
    tasks = os.path.join(root, "tasks")
    for name in _real_folders(tasks):
        folder = os.path.join(tasks, name)
        states = [stat for _, _, stat in _regular_files(folder, ".json")]
        if states:
            size, newest = sum(stat.st_size for stat in states), max(stat.st_mtime_ns for stat in states)
            files.append(TranscriptFile(folder, "tasks", name, "", size, newest, 0))
    for path, name, stat in _regular_files(os.path.join(root, "plans"), ".md"):
        agent = name[:-3].partition("-agent-")[2]
        files.append(TranscriptFile(path, "plans", "", agent, stat.st_size, stat.st_mtime_ns, 0))
    return files


def _regular_files(folder: str, suffix: str) -> list[tuple[str, str, os.stat_result]]:
    """List the regular files of a folder by name; neither the folder nor the files may be links."""
    files = []
    for entry in _list_folder(folder, []) if _is_real_folder(folder) else ():
        name = entry.name
        if name.endswith(suffix) and is_utf8(name) and not entry.is_symlink():
            try:
                stat = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if S_ISREG(stat.st_mode):
                files.append((entry.path, name, stat))
    files.sort()
    return files


def _is_real_folder(path: str) -> bool:
    """Return whether a path is a folder and not a link to one."""
    try:
        return S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _real_folders(folder: str) -> list[str]:
    entries = _list_folder(folder, []) if _is_real_folder(folder) else []
    return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and is_utf8(entry.name))


class _Walk:
    """What a walk has found so far; `known` are the states of files that it has not found yet."""

    def __init__(self, missed: list[str], outputs: dict[str, int] | None, known: dict[str, FileState]) -> None:
        self.missed, self.outputs, self.known = missed, outputs, known
        self.files: list[TranscriptFile] = []

    def add_project(self, path: str, folder: str) -> None:
        for entry in _list_folder(path, self.missed):
            if self._is_unchanged(entry):
                continue
            name = entry.name
            if name.endswith(".jsonl"):
                agent = agent_id(name)
                session = "" if agent else name[:-6]
                if agent or is_uuid(session):
                    self._add_file(entry, folder, session, agent)
            elif is_uuid(name) and _is_folder(entry, self.missed):
                inside = entry.path
                self._add_agents(f"{inside}{os.sep}subagents", folder, name)
                if self.outputs is not None and not entry.is_symlink() and (long_outputs := _list_outputs(inside)):
                    self.outputs[inside] = hash_outputs(long_outputs)
            elif name == "subagents" and _is_folder(entry, self.missed):
                self._add_agents(entry.path, folder, "")

    def _add_agents(self, path: str, folder: str, session: str) -> None:
        for entry in _list_folder(path, self.missed):
            if self._is_unchanged(entry):
                continue
            agent = agent_id(entry.name)
            if agent:
                self._add_file(entry, folder, session, agent)
            elif not entry.name.endswith((".json", ".jsonl")) and entry.is_dir(follow_symlinks=False):  # links can loop
                self._add_agents(entry.path, folder, session)

    def _is_unchanged(self, entry: os.DirEntry[str]) -> bool:
        """Return whether a file has its known state, which is then forgotten. A folder has none."""
        path = entry.path
        before = self.known.get(path)
        if before is None:
            return False
        try:
            is_unchanged = _file_state(entry.stat()) == before
        except OSError:  # `_add_file` meets it again
            return False
        if is_unchanged:
            del self.known[path]
        return is_unchanged

    def _add_file(self, entry: os.DirEntry[str], folder: str, session: str, agent: str) -> None:
        try:
            stat = entry.stat()
        except FileNotFoundError:  # deleted since the folder was listed
            return
        except OSError:
            self.missed.append(entry.path)
            return
        if S_ISREG(stat.st_mode):
            self.known.pop(entry.path, None)
            inode, size, mtime, ctime = _file_state(stat)
            self.files.append(TranscriptFile(entry.path, folder, session, agent, size, mtime, inode, ctime))


def _file_state(stat: os.stat_result) -> FileState:
    return stat.st_ino & _LARGEST, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def is_utf8(path: str) -> bool:
    """Return True if a path is valid UTF-8, which databases and output require."""
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_folder(entry: os.DirEntry[str], missed: list[str]) -> bool:
    """Return True if an entry is a folder or a link to one; a link that loops or is inaccessible is added to
    `missed`.
    """
    try:
        return entry.is_dir()
    except OSError:
        missed.append(entry.path)
        return False


def agent_id(name: str) -> str:
    """Return the id of the agent that the name of a transcript contains; "" for a session."""
    return name[6:-6] if name.startswith("agent-") and name.endswith(".jsonl") else ""


def is_uuid(name: str) -> bool:
    """Return True if a name has the form of a session id."""
    return len(name) == 36 and name[8] == name[13] == name[18] == name[23] == "-" and not name.strip(_HEX)


_HEX = "0123456789abcdefABCDEF-"
_LARGEST = (1 << 63) - 1  # largest integer that a database stores


def _list_folder(path: str, missed: list[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as iterator:
            return list(iterator)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        missed.append(path)
        return []
