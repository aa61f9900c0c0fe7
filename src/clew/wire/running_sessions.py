"""Find the sessions that a running Claude Code process has open, from the files it keeps in `sessions/`.

Claude Code writes `sessions/<pid>.json` (from 2.1.200 on) and removes it at its end, but not when it is killed. So
a file counts only if its process exists and has the recorded start time. Older versions leave no trace.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from clew.wire.json_codec import decode_readable

_START_FIELD = 19  # of /proc/<pid>/stat after the name of the program: the start time in ticks


def running_sessions(root: str | os.PathLike[str]) -> dict[str, int]:
    """Return the ids of the sessions in use, each with the process that has it open."""
    try:
        files = sorted(Path(root, "sessions").glob("*.json"))
    except OSError:
        return {}
    found = {}
    for file in files:
        record = _read_record(file)
        session, pid = record.get("sessionId"), record.get("pid")
        if isinstance(session, str) and isinstance(pid, int) and _is_running(pid, record.get("procStart")):
            found[session.lower()] = pid
    return found


def _read_record(file: Path) -> dict[str, Any]:
    try:
        value = decode_readable(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_running(pid: int, start: Any) -> bool:
    if pid <= 0 or sys.platform == "win32":
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # a process of another user
        pass
    known = _start_time(pid)
    return not isinstance(start, str) or not known or start == known


def _start_time(pid: int) -> str:
    """Return when a process started, as Claude Code records it; "" where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return ""
    return fields[_START_FIELD] if len(fields) > _START_FIELD else ""
