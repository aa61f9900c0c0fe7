"""Choose the modification time of a file that arrives in a folder of Claude Code.

Claude Code deletes files by their modification time alone (after 30 days, or `cleanupPeriodDays`) and lists sessions
in that order. So an old file gets a newer time, and older files stay older than newer ones.
"""

from __future__ import annotations

import os
import time

from clew.wire.side_files import read_settings

_DAY = 86_400_000_000_000  # nanoseconds
_DEFAULT_DAYS = 30
_MAX_DAYS = 365_000


def cleanup_days(root: str | os.PathLike[str]) -> int:
    """Return after how many days Claude Code deletes files in a folder; 0 deletes all of them in old versions."""
    for name in ("settings.local.json", "settings.json"):
        days = read_settings(os.path.join(root, name)).cleanup_period_days
        if days is not None:
            return min(days, _MAX_DAYS)
    return _DEFAULT_DAYS


def arrival_time(mtime_ns: int, days: int, now_ns: int | None = None) -> int:
    """Return a time at most half of the period ago, in the order of the original times."""
    now = time.time_ns() if now_ns is None else now_ns
    age, half = max(0, now - mtime_ns), max(1, days) * _DAY // 2
    return now - age * half // (age + half)
