"""Count the sessions that Claude Code will delete soon and that the archive does not have.

Claude Code deletes transcripts whose file time is older than `cleanupPeriodDays`. Heavy modules are imported only if
there are such files: every list calls this.
"""

from __future__ import annotations

import os
import time

from clew.system.environment import data_home
from clew.system.plural import plural
from clew.wire.arrival_time import cleanup_days

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.wire.layout import SessionFile

SOON = 5  # days
_DAY = 86_400 * 10**9
_ARCHIVED = """
SELECT f.path, g.offset + length(g.rest), g.mtime FROM file f JOIN root r ON r.id = f.root
JOIN generation g ON g.id = f.generation WHERE f.kind = 'session' AND r.path = ?
"""


def expiring_warning(root: str | os.PathLike[str], files: Iterable[SessionFile]) -> str:
    """Return one sentence with the next step about sessions that are deleted soon and not archived; else ""."""
    expiring = expiring_sessions(root, files)
    if not expiring:
        return ""
    days = cleanup_days(root)
    left = (min(file.mtime_ns for file in expiring) + days * _DAY - time.time_ns()) // _DAY
    when = "can delete them at any time" if left < 1 else f"deletes the first in {plural(left, 'day')}"
    sessions = plural(len(expiring), "session is", "sessions are")
    setting = f"cleanupPeriodDays: {days}"
    return f"{sessions} not archived, and Claude Code {when} ({setting}). Keep them with: clew collect"


def expiring_sessions(root: str | os.PathLike[str], files: Iterable[SessionFile]) -> list[SessionFile]:
    """Return the sessions that Claude Code deletes within `SOON` days and that the archive does not have."""
    limit = time.time_ns() - (cleanup_days(root) - SOON) * _DAY
    old = [file for file in files if file.mtime_ns < limit and file.size]
    return _unarchived(os.path.realpath(root), old) if old else []


def _unarchived(root: str, files: list[SessionFile]) -> list[SessionFile]:
    """Return the files whose size and time differ from what the archive has."""
    location = os.path.join(data_home(), "archive", "archive.db")
    if not os.path.exists(location):
        return files
    from apsw import Error

    from clew.collect.archive.reader import Archive
    from clew.errors import StoreError

    try:
        with Archive.open() as archive:
            known = {path: (size, mtime) for path, size, mtime in archive.connection.execute(_ARCHIVED, (root,))}
    except (StoreError, Error, OSError):  # `clew collect status` explains what is wrong with it
        return files
    names = ((file, f"projects/{file.project_folder.name}/{file.path.name}") for file in files)
    return [file for file, name in names if known.get(name) != (file.size, file.mtime_ns)]
