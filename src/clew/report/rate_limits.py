"""The limits of a subscription: five hours and a week, as Claude Code passes them to its status line.

No file of Claude Code contains them, so the last ones seen are saved, readable for the user alone. Heavy modules are
not imported: the status line must print immediately.
"""

from __future__ import annotations

import json
import os
from zlib import crc32

from clew.system.environment import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAMES = {"five_hour": "5h", "seven_day": "week"}
_LATEST = 253_402_300_799  # the last second of the year 9999


def limits_in(status: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the windows in the status of a session, each with the used percentage and when it ends."""
    windows = status.get("rate_limits")
    limits: dict[str, dict[str, float]] = {}
    for name in NAMES:
        window = windows.get(name) if isinstance(windows, dict) else None
        used = _number(window, "used_percentage")
        ends = _number(window, "resets_at")
        if used is not None and ends is not None and 0 <= ends <= _LATEST:
            limits[name] = {"used": max(0.0, min(used, 100.0)), "resets": int(ends)}
    return limits


def _number(window: Any, key: str) -> float | None:
    value = window.get(key) if isinstance(window, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if -1e15 < value < 1e15 else None


def limits_file(root: str) -> str:
    """Return the file with the last limits of a Claude Code folder."""
    path = os.path.realpath(root).encode("utf-8", "surrogateescape")
    return os.path.join(state_home(), f"limits-{crc32(path):08x}.json")


def save_limits(root: str, limits: dict[str, dict[str, float]], now: float) -> None:
    """Save the limits that were just seen, unless they are saved already; errors are ignored."""
    path = limits_file(root)
    before = load_limits(root)
    merged = {**before.get("windows", {}), **limits}
    if merged == before.get("windows") and now - before.get("seen", 0) < 60:
        return
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        draft = f"{path}.{os.getpid()}"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"seen": int(now), "windows": merged}, file)
        os.replace(draft, path)
    except OSError:
        return


def load_limits(root: str) -> dict[str, Any]:
    """Return the saved limits, `{"seen": …, "windows": {…}}`; empty if there are none."""
    try:
        with open(limits_file(root), "rb") as file:
            value = json.loads(file.read(1 << 16))
        windows, seen = value["windows"], value["seen"]
        limits = {
            name: {"used": float(windows[name]["used"]), "resets": int(windows[name]["resets"])} for name in windows
        }
        return {"seen": int(seen), "windows": {name: limits[name] for name in NAMES if name in limits}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def describe_window(name: str, window: dict[str, float], now: float) -> str:
    """Describe a window in a few words: `5h 42 % (resets in 1h05m)`; one that ended since has no percentage."""
    if window["resets"] <= now:
        return f"{NAMES[name]} 0 % (reset)"
    return f"{NAMES[name]} {window['used']:.0f} % (resets in {duration(window['resets'] - now)})"


def duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    days, hours = minutes // 1440, minutes // 60 % 24
    return f"{days}d{hours:02d}h" if days else f"{hours}h{minutes % 60:02d}m"
