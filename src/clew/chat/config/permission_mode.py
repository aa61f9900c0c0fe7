"""The permission modes, and how their names are read."""

from __future__ import annotations

from typing import Literal, get_args

Mode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]
MODES: tuple[Mode, ...] = get_args(Mode)


def parse_mode(name: str) -> tuple[Mode, str]:
    """Return the mode of this name, and a notice for the user if another mode is used instead."""
    for mode in MODES:
        if name == mode:
            return mode, ""
    if name == "manual":
        return "default", ""
    if name == "auto":
        return "default", "The mode auto is not supported by clew; using the mode default."
    return "default", f"Unknown mode {name!r}; using the mode default."
