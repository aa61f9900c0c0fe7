"""Read after how many days Claude Code deletes its transcripts."""

from __future__ import annotations

import os

from clew.wire.json_codec import decode
from clew.wire.line import open_regular

DEFAULT_DAYS = 30  # without `cleanupPeriodDays`


def retention_days(root: str) -> int:
    """Return `cleanupPeriodDays` of the settings; the default if the settings are missing or invalid."""
    for name in ("settings.local.json", "settings.json"):
        try:
            with open_regular(os.path.join(root, name)) as file:
                value = decode(file.read())
        except (OSError, ValueError):
            continue
        days = value.get("cleanupPeriodDays") if isinstance(value, dict) else None
        if isinstance(days, int | float) and not isinstance(days, bool) and days >= 0:
            return min(int(days), 365_000)
    return DEFAULT_DAYS
