"""Retention: after how many days Claude Code deletes what it wrote."""

from __future__ import annotations

import os

from clew.wire.json_codec import decode

DAYS = 30  # what it does unless `cleanupPeriodDays` says otherwise


def days_kept(root: str) -> int:
    """The days that the settings name; broken settings name none."""
    for name in ("settings.local.json", "settings.json"):
        try:
            with open(os.path.join(root, name), "rb") as file:
                value = decode(file.read())
        except (OSError, ValueError):
            continue
        days = value.get("cleanupPeriodDays") if isinstance(value, dict) else None
        if isinstance(days, int | float) and not isinstance(days, bool) and days >= 0:
            return min(int(days), 365_000)
    return DAYS
