"""Settings and marks of the web pages: one file in clew's state folder, which all servers of the user share."""

from __future__ import annotations

import json
import time
import zoneinfo
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import UTC, tzinfo
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from clew.errors import ClewError
from clew.system.environment import state_home
from clew.system.private_file import write_private

MAX_SIZE = 4 << 20  # bytes; a larger file is not ours
SYSTEM = "system"
MAX_AGE = 1.0  # seconds after which the file is looked at again: pages ask for settings thousands of times


@cache
def zone_names() -> tuple[str, ...]:
    """Return the time zones that this machine knows, without aliases that no list of cities has."""
    areas = ("Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/")
    named = (name for name in zoneinfo.available_timezones() if name.startswith((*areas, "Indian/", "Pacific/")))
    return (SYSTEM, "UTC", *sorted(named))


# The values of each setting; the first one is the default.
CHOICES: dict[str, Callable[[], tuple[str, ...]]] = {
    "theme": lambda: (SYSTEM, "light", "dark"),
    "density": lambda: ("comfortable", "compact"),
    "width": lambda: ("normal", "wide"),
    "zone": zone_names,
    "weekday": lambda: ("monday", "sunday", "saturday"),
    "masking": lambda: ("on", "off"),
}


@dataclass(frozen=True)
class WebSettings:
    """What the user chose on the settings page."""

    theme: str = SYSTEM
    density: str = "comfortable"
    width: str = "normal"
    zone: str = SYSTEM
    weekday: str = "monday"
    masking: str = "on"

    @property
    def tzinfo(self) -> tzinfo | None:
        """The zone of times; None is that of this machine."""
        if self.zone == SYSTEM:
            return None
        try:
            return zoneinfo.ZoneInfo(self.zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            return UTC


def valid_settings(values: Mapping[str, object]) -> dict[str, str]:
    """Return those of some values that a setting can have."""
    names = [field.name for field in fields(WebSettings)]
    return {name: str(values[name]) for name in names if values.get(name) in CHOICES[name]()}


class Preferences:
    """The file, by sections: `settings`, and others whose users check what they read. Thread-safe."""

    def __init__(self, folder: str | None = None) -> None:
        self.path = Path(folder or state_home(), "web.json")
        self._lock = Lock()
        self._state: tuple[int, int] | None = None
        self._sections: dict[str, Any] = {}
        self._settings = WebSettings()
        self._checked = -MAX_AGE

    @property
    def settings(self) -> WebSettings:
        if time.monotonic() - self._checked >= MAX_AGE:
            with self._lock:
                self._load()
        return self._settings

    def set(self, **values: str) -> WebSettings:
        """Change some settings; values that they cannot have are ignored."""
        given = valid_settings(values)
        self.change("settings", lambda old: {**(old if isinstance(old, dict) else {}), **given})
        return self._settings

    def read(self, section: str) -> Any:
        """Return the JSON value of a section; None if there is none."""
        with self._lock:
            self._load()
            return self._sections.get(section)

    def change(self, section: str, make: Callable[[Any], Any]) -> None:
        """Replace the value of a section by what `make` returns for it. Raises ClewError if it cannot be saved."""
        with self._lock:
            self._load()
            sections = {**self._sections, section: make(self._sections.get(section))}
            try:
                write_private(str(self.path), json.dumps(sections, ensure_ascii=False, indent=1) + "\n")
            except OSError as error:
                raise ClewError(
                    f"This cannot be saved: {error.strerror}.", hint=f"It belongs to {self.path}."
                ) from None
            self._load()

    def _load(self) -> None:
        """Read the file if another server changed it. A damaged one is put aside."""
        self._checked = time.monotonic()
        try:
            stat = self.path.stat()
            if (state := (stat.st_mtime_ns, stat.st_ino)) == self._state:
                return
            with self.path.open(encoding="utf-8") as file:
                sections = json.loads(file.read(MAX_SIZE))
        except (OSError, RecursionError):
            state, sections = None, {}
        except ValueError:
            with suppress(OSError):
                self.path.replace(self.path.with_suffix(".damaged"))
            state, sections = None, {}
        self._state, self._sections = state, sections if isinstance(sections, dict) else {}
        values = self._sections.get("settings")
        self._settings = WebSettings(**valid_settings(values)) if isinstance(values, dict) else WebSettings()
