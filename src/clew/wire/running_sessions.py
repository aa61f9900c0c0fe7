"""Read which sessions run now, from the files that Claude Code and clew keep while a process runs.

Claude Code writes `sessions/<pid>.json` for each process and removes it at the end, but not after `kill -9`. So a file
counts only if its process is alive and started when the file says. Versions before 2.1.200 write no such file: their
processes are found by name, and their session is unknown. A chat of clew has a lock file next to its session.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.wire.json_codec import decode
from clew.wire.layout import Tree
from clew.wire.line import open_regular
from clew.wire.timestamps import parse_timestamp

_MAX_FILE = 1 << 16  # bytes; a registry file has about 700
_PROC = Path("/proc")
_PROGRAM = "claude"


class RunningSession(Struct, frozen=True):
    """A process and its session; `session` is empty if the process does not say which one it runs.

    `status` is busy, idle, waiting or shell (a background command runs), as Claude Code writes it; empty if unknown.
    `since` is when the status began, and `evidence` says how the process was found and checked.
    """

    pid: int
    session: str
    program: str
    evidence: str
    status: str = ""
    waiting_for: str = ""
    cwd: str = ""
    started: datetime | None = None
    since: datetime | None = None
    terminal: str = ""
    kind: str = ""
    name: str = ""
    version: str = ""


def running_sessions(root: str | os.PathLike[str]) -> dict[str, int]:
    """Return the ids of the sessions in use, each with the process that has it open."""
    return {each.session.lower(): each.pid for each in list_running(Tree(Path(root))) if each.session}


def list_running(tree: Tree) -> list[RunningSession]:
    """Return the processes that run a session of a tree, the one that started last first."""
    registered = list(_registered(tree))
    pids = {each.pid for each in registered}
    sessions = [*registered, *_chats(tree), *(each for each in _unregistered(tree) if each.pid not in pids)]
    return sorted(sessions, key=lambda each: (-(each.started.timestamp() if each.started else 0.0), each.pid))


def _registered(tree: Tree) -> Iterator[RunningSession]:
    for path in _list_files(tree.root / "sessions", ".json"):
        value = _read_object(path)
        pid = value.get("pid")
        if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0 or path.stem != str(pid):
            continue
        check = _check_process(pid, value.get("procStart"))
        if not check:
            continue
        yield RunningSession(
            pid,
            _text(value, "sessionId"),
            "Claude Code",
            f"sessions/{path.name}: {check}",
            status=_text(value, "status"),
            waiting_for=_text(value, "waitingFor"),
            cwd=_text(value, "cwd"),
            started=_time(value.get("startedAt")),
            since=_time(value.get("statusUpdatedAt")),
            terminal=_terminal(pid),
            kind=_kind(value),
            name=_text(value, "name") if value.get("nameSource") in ("user", "auto") else "",
            version=_text(value, "version"),
        )


def _chats(tree: Tree) -> Iterator[RunningSession]:
    """Yield the chats of clew: a lock file names the process that writes a session."""
    for project in tree.projects():
        for path in _list_files(project.folder, ".lock"):
            from platform import node

            value = _read_object(path)
            pid = value.get("pid")
            if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0 or value.get("host") != node():
                continue
            if check := _check_process(pid, None):
                started = parse_timestamp(_text(value, "started") or None)
                evidence = f"{path.name}: {check}"
                yield RunningSession(
                    pid, path.stem, "clew", evidence, started=started, terminal=_terminal(pid), cwd=_process_cwd(pid)
                )


def _unregistered(tree: Tree) -> Iterator[RunningSession]:
    """Yield processes of versions that do not register their sessions, so that the session is unknown."""
    if not _PROC.is_dir():
        return
    root = os.path.realpath(tree.root)
    for path in _PROC.iterdir():
        if not path.name.isdecimal() or _read_text(path / "comm").strip() != _PROGRAM:
            continue
        pid = int(path.name)
        if _claude_folder(pid) == root and (cwd := _process_cwd(pid)):
            evidence = f"process {pid} is named {_PROGRAM}; its version does not record the session"
            yield RunningSession(pid, "", "Claude Code", evidence, cwd=cwd, terminal=_terminal(pid))


# -- processes


def _check_process(pid: int, start: object) -> str:
    """Describe why a process counts as running; empty if it does not run, or if another process has its number now."""
    if sys.platform == "win32":
        return f"process {pid} is not checked on Windows"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except (OSError, OverflowError):
        pass  # it exists and belongs to another user
    fields = _stat_fields(pid)
    if not fields:
        return f"process {pid} is alive; its start time is not checked on this system" if not _PROC.is_dir() else ""
    if fields[0] in ("Z", "X"):
        return ""
    if not isinstance(start, str):
        return f"process {pid} is alive; its start time is not recorded"
    return f"process {pid} is alive and has the recorded start time" if fields[19] == start else ""


def _stat_fields(pid: int) -> list[str]:
    """Return the fields of `/proc/<pid>/stat` after the name of the program; empty if there is no such file."""
    fields = _read_text(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return fields if len(fields) > 19 else []


def _terminal(pid: int) -> str:
    """Return the terminal of a process, from the device number in its state; empty if there is none."""
    fields = _stat_fields(pid) if sys.platform == "linux" else []
    number = int(fields[4]) if fields else 0
    major, minor = number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00
    if 136 <= major <= 143:
        return f"pts/{(major - 136) * 256 + minor}"
    return f"tty{minor}" if major == 4 and minor < 64 else ""


def _process_cwd(pid: int) -> str:
    try:
        return str((_PROC / str(pid) / "cwd").readlink())
    except OSError:
        return ""


def _claude_folder(pid: int) -> str:
    """Return the folder that a process uses, from the two variables that name it; empty if they are not readable."""
    variables = _read_text(_PROC / str(pid) / "environ", 1 << 20).split("\0")
    values = dict(each.split("=", 1) for each in variables if each.startswith(("CLAUDE_CONFIG_DIR=", "HOME=")))
    home = values.get("HOME")
    folder = values.get("CLAUDE_CONFIG_DIR") or (os.path.join(home, ".claude") if home else "")
    return os.path.realpath(folder) if folder else ""


# -- files


def _list_files(folder: Path, suffix: str) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(suffix) and path.is_file())
    except OSError:
        return []


def _read_object(path: Path) -> dict[str, Any]:
    """Read a small JSON object; empty if it is missing, damaged or being rewritten."""
    try:
        value = decode(_read_text(path).encode("utf-8", "surrogateescape"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _read_text(path: Path, size: int = _MAX_FILE) -> str:
    try:
        with open_regular(path) as file:
            return file.read(size).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _text(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""


def _time(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    time = parse_timestamp(value)
    return time.astimezone(UTC) if time else None


def _kind(value: dict[str, Any]) -> str:
    """Return how the process is used: terminal, background, print (`claude -p`), or the host that started it."""
    if value.get("kind") == "bg":
        return "background"
    entrypoint = _text(value, "entrypoint")
    return {"cli": "terminal", "sdk-cli": "print", "": ""}.get(entrypoint, entrypoint)
