"""Zones: which day, week, month or hour an instant belongs to, where the user is or wherever is asked for."""

from __future__ import annotations

import time

from clew.report.usage_bucket import QUARTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 86_400
NO_TIME = "(no time)"


class Zone:
    """A time zone: the local one, or one by its name. Raises ValueError for a name that there is not."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._known: dict[int, int] = {}
        self._names: dict[tuple[str, int], str] = {}
        self._offset = _named(name) if name else _local

    def local(self, when: int) -> int:
        """Seconds since 1970 as the clocks of the zone count them."""
        quarter = when // QUARTER
        offset = self._known.get(quarter)
        if offset is None:
            offset = self._known[quarter] = self._offset(quarter * QUARTER)
        return when + offset

    def _name(self, form: str, local: int) -> str:
        found = self._names.get((form, local))
        if found is None:
            found = self._names[form, local] = time.strftime(form, time.gmtime(local))
        return found

    def hour(self, when: int) -> str:
        return self._name("%Y-%m-%d %H:00", self.local(when) // 3600 * 3600) if when >= 0 else NO_TIME

    def day(self, when: int) -> str:
        return self._name("%Y-%m-%d", self.local(when) // DAY * DAY) if when >= 0 else NO_TIME

    def week(self, when: int) -> str:
        """The Monday that the week began with."""
        days = self.local(when) // DAY
        return self._name("%Y-%m-%d", (days - (days + 3) % 7) * DAY) if when >= 0 else NO_TIME

    def month(self, when: int) -> str:
        return self._name("%Y-%m", self.local(when) // DAY * DAY) if when >= 0 else NO_TIME

    def minute(self, when: int) -> str:
        return self._name("%Y-%m-%d %H:%M", self.local(when) // 60 * 60) if when >= 0 else NO_TIME


def _local(when: int) -> int:
    return time.localtime(when).tm_gmtoff


def _named(name: str) -> Callable[[int], int]:
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is no time zone: write UTC, Europe/Berlin or the like") from None

    def offset(when: int) -> int:
        found = datetime.fromtimestamp(when, UTC).astimezone(zone).utcoffset()
        return int(found.total_seconds()) if found else 0

    return offset
