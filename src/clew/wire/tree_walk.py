"""List every transcript in a folder of Claude Code, with its size and modification time.

No file is opened, and imports are light: this runs before every search.
"""

from __future__ import annotations

import os
from binascii import crc32  # the same as zlib's, but loads faster
from stat import S_ISDIR, S_ISREG

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    root: str, missed: list[str] | None = None, outputs: dict[str, int] | None = None
) -> list[TranscriptFile]:
    """List sessions and agents in all layouts; the name of a flat agent file does not contain its session.

    Paths that exist but could not be inspected are appended to `missed`: then the list is incomplete. `outputs`
    receives the folders of sessions with long outputs, each with `hash_outputs` of them.
    """
    missed = [] if missed is None else missed
    files: list[TranscriptFile] = []
    if not os.path.isdir(root):
        missed.append(root)
    for project in _list_folder(os.path.join(root, "projects"), missed):
        if not is_utf8(project.path):
            missed.append(project.path)
        elif _is_folder(project, missed):
            _add_project(project.path, project.name, files, missed, outputs)
    return files


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


def _add_project(
    path: str, folder: str, files: list[TranscriptFile], missed: list[str], outputs: dict[str, int] | None
) -> None:
    for entry in _list_folder(path, missed):
        name = entry.name
        if name.endswith(".jsonl"):
            agent = _agent_id(name)
            session = "" if agent else name[:-6]
            if agent or is_uuid(session):
                _add_file(entry, (folder, session, agent), files, missed)
        elif is_uuid(name) and _is_folder(entry, missed):
            inside = entry.path
            _add_agents(f"{inside}{os.sep}subagents", folder, name, files, missed)
            if outputs is not None and not entry.is_symlink() and (long_outputs := _list_outputs(inside)):
                outputs[inside] = hash_outputs(long_outputs)
        elif name == "subagents" and _is_folder(entry, missed):
            _add_agents(entry.path, folder, "", files, missed)


def _add_agents(path: str, folder: str, session: str, files: list[TranscriptFile], missed: list[str]) -> None:
    for entry in _list_folder(path, missed):
        agent = _agent_id(entry.name)
        if agent:
            _add_file(entry, (folder, session, agent), files, missed)
        elif not entry.name.endswith((".json", ".jsonl")) and entry.is_dir(follow_symlinks=False):  # links can loop
            _add_agents(entry.path, folder, session, files, missed)


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


def _add_file(
    entry: os.DirEntry[str], names: tuple[str, str, str], files: list[TranscriptFile], missed: list[str]
) -> None:
    try:
        stat = entry.stat()
    except FileNotFoundError:  # deleted since the folder was listed
        return
    except OSError:
        missed.append(entry.path)
        return
    if S_ISREG(stat.st_mode):
        state = stat.st_size, stat.st_mtime_ns, stat.st_ino & _LARGEST, stat.st_ctime_ns
        files.append(TranscriptFile(entry.path, *names, *state))


def _agent_id(name: str) -> str:
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
