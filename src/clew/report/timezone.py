"""Map instants to hours, days, weeks and months of the local time zone or a named one."""

from __future__ import annotations

import time

from clew.report.usage_bucket import QUARTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 86_400
NO_TIME = "(no time)"


class Zone:
    """The local time zone, or one by name. Raises ValueError for an unknown name."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._offsets: dict[int, int] = {}
        self._names: dict[tuple[str, int], str] = {}
        self._offset = _offset_by_name(name) if name else _local_offset

    def local(self, when: int) -> int:
        """Return seconds since 1970 in local time."""
        quarter = when // QUARTER
        offset = self._offsets.get(quarter)
        if offset is None:
            offset = self._offsets[quarter] = self._offset(quarter * QUARTER)
        return when + offset

    def _name(self, form: str, local: int) -> str:
        name = self._names.get((form, local))
        if name is None:
            name = self._names[form, local] = time.strftime(form, time.gmtime(local))
        return name

    def hour(self, when: int) -> str:
        return self._name("%Y-%m-%d %H:00", self.local(when) // 3600 * 3600) if when >= 0 else NO_TIME

    def day(self, when: int) -> str:
        return self._name("%Y-%m-%d", self.local(when) // DAY * DAY) if when >= 0 else NO_TIME

    def week(self, when: int) -> str:
        """Return the Monday of the week."""
        days = self.local(when) // DAY
        return self._name("%Y-%m-%d", (days - (days + 3) % 7) * DAY) if when >= 0 else NO_TIME

    def month(self, when: int) -> str:
        return self._name("%Y-%m", self.local(when) // DAY * DAY) if when >= 0 else NO_TIME

    def minute(self, when: int) -> str:
        return self._name("%Y-%m-%d %H:%M", self.local(when) // 60 * 60) if when >= 0 else NO_TIME


def _local_offset(when: int) -> int:
    return time.localtime(when).tm_gmtoff


def _offset_by_name(name: str) -> Callable[[int], int]:
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone: use a name such as UTC or Europe/Berlin") from None

    def offset(when: int) -> int:
        difference = datetime.fromtimestamp(when, UTC).astimezone(zone).utcoffset()
        return int(difference.total_seconds()) if difference else 0

    return offset
