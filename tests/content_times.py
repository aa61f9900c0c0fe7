"""Move a session in time: its entries, not its file."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from clew.wire.timestamps import format_timestamp, parse_timestamp

_TIME = re.compile(r'(?<="timestamp":")[^"]+')


def set_last_use(path: Path, when: float) -> Path:
    """Shift all times in a file, so that its newest entry is of this moment."""
    text = path.read_text("utf-8", "surrogateescape")
    times = {name: parse_timestamp(name) for name in _TIME.findall(text)}
    if not any(times.values()):
        return path
    shift = datetime.fromtimestamp(when, UTC) - max(time for time in times.values() if time)
    shifted = {name: format_timestamp(time + shift) for name, time in times.items() if time}
    path.write_text(_TIME.sub(lambda match: shifted.get(match[0], match[0]), text), "utf-8", "surrogateescape")
    return path
