"""A true time axis: every hour, day, week, month or year between two times has its place, used or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from clew.report.charts.canvas import text_width

_GAP = 10  # pixels between two labels


class TimeUnit(NamedTuple):
    """A unit of time. `ordinal` numbers the units, `start` is the time at which one begins."""

    name: str
    ordinal: Callable[[datetime], int]
    start: Callable[[int], datetime]
    form: str


def _years(count: int) -> TimeUnit:
    name = "year" if count == 1 else f"{count} years"
    start = lambda index: datetime(max(1, min(9999, index * count)), 1, 1)  # noqa: E731
    return TimeUnit(name, lambda time: time.year // count, start, "%Y")


def _hour_start(index: int) -> datetime:
    return datetime.fromordinal(index // 24).replace(hour=index % 24)


def _month_start(index: int) -> datetime:
    return datetime(index // 12, index % 12 + 1, 1)


UNITS = (
    TimeUnit("hour", lambda time: time.toordinal() * 24 + time.hour, _hour_start, "%-d %b %Y, %H:00"),
    TimeUnit("day", datetime.toordinal, datetime.fromordinal, "%a %-d %b %Y"),
    TimeUnit("week", lambda time: (time.toordinal() - 1) // 7, lambda i: datetime.fromordinal(7 * i + 1), "%-d %b %Y"),
    TimeUnit("month", lambda time: time.year * 12 + time.month - 1, _month_start, "%b %Y"),
    *(_years(count) for count in (1, 10, 100, 1000)),
)
# Where labels can stand, from close to far: an index changes its value there.
_PLACES: tuple[Callable[[datetime], int], ...] = (
    *(partial(lambda hours, time: UNITS[0].ordinal(time) // hours, hours) for hours in (1, 3, 6, 12)),
    *(UNITS[1].ordinal, UNITS[2].ordinal, lambda time: UNITS[2].ordinal(time) // 2),
    *(partial(lambda months, time: UNITS[3].ordinal(time) // months, months) for months in (1, 3, 6)),
    *(partial(lambda years, time: time.year // years, years) for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)
_DAYS, _MONTHS, _YEARS = 4, 7, 10  # positions in _PLACES


def parse_time(name: str) -> datetime | None:
    """Return the time that a row of a table is named for: "2026-11-16 14:00", "2026-11-16" or "2026-11"; else None."""
    try:
        return datetime.fromisoformat(f"{name}-01" if len(name) == 7 else name)
    except ValueError:
        return None


class TimeAxis(NamedTuple):
    """Times from the first to the last, in the finest unit of which at most `most` have room."""

    unit: TimeUnit
    first: int
    size: int

    def place(self, time: datetime) -> int:
        return self.unit.ordinal(time) - self.first

    @property
    def starts(self) -> list[datetime]:
        return [self.unit.start(self.first + index) for index in range(self.size)]

    @property
    def name(self) -> str:
        """What a place is, and the range: "Day, 17 Sep – 16 Nov 2026"."""
        first, last = (self.unit.start(self.first + index) for index in (0, self.size - 1))
        unit = self.unit.name[0].upper() + self.unit.name[1:]
        form = "%Y" if self.unit.form == "%Y" else "%b %Y" if self.unit.name == "month" else "%-d %b %Y"
        start, end = format_time(first, form), format_time(last, form)
        if start != end and first.year == last.year and form != "%Y":
            start = start.removesuffix(f" {first.year:04d}")
        return f"{unit}, {start} – {end}" if start != end else f"{unit}, {end}"

    def describe(self, index: int) -> str:
        text = format_time(self.unit.start(self.first + index), self.unit.form)
        return f"week of {text}" if self.unit.name == "week" else text

    def span(self, index: int) -> tuple[datetime, datetime]:
        """Return the begin of a place and of the next one."""
        begin = self.unit.start(self.first + index)
        try:
            return begin, self.unit.start(self.first + index + 1)
        except ValueError:  # after the year 9999
            return begin, datetime.max

    def labels(self, width: float, left: float, frame: float) -> list[tuple[float, str]]:
        """Return the centres and texts of labels that do not overlap or leave the frame; as many as have room."""
        step = width / self.size
        finest = {"hour": 0, "day": _DAYS, "week": _DAYS + 1, "month": _MONTHS}.get(self.unit.name, _YEARS)
        for rank, key in list(enumerate(_PLACES))[finest:]:
            found = self._labels_at(rank, key, step, left, frame)
            if found and all(
                right - left_ >= (text_width(a) + text_width(b)) / 2 + _GAP
                for (left_, a), (right, b) in pairwise(found)
            ):
                return found
        text = self.describe(0)
        return [(max(left + step / 2, text_width(text) / 2), text)] if text_width(text) <= frame else []

    def _labels_at(
        self, rank: int, key: Callable[[datetime], int], step: float, left: float, frame: float
    ) -> list[tuple[float, str]]:
        found: list[tuple[float, str]] = []
        before, year = key(self.unit.start(self.first - 1)) if self.first > 1 else -1, 0
        for index, time in enumerate(self.starts):
            here = key(time)
            if here != before:
                text = _label(time, rank, year)
                half = text_width(text) / 2
                centre = min(max(left + (index + 0.5) * step, half), frame - half)
                found.append((centre, text))
                year = time.year
            before = here
        return found


def format_time(time: datetime, form: str) -> str:
    """Return a time by a format in English, whatever the locale; `%-d` works on every system."""
    values = {"%-d": str(time.day), "%b": _MONTH_NAMES[time.month - 1], "%Y": f"{time.year:04d}"}
    values |= {"%a": _DAY_NAMES[time.weekday()], "%H": f"{time.hour:02d}"}
    for code, value in values.items():
        form = form.replace(code, value)
    return form


_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _label(time: datetime, rank: int, year: int) -> str:
    if rank >= _YEARS:
        return f"{time.year:04d}"
    if rank >= _MONTHS:
        return format_time(time, "%b %Y" if time.year != year else "%b")
    return format_time(time, "%H:00" if rank < _DAYS and time.hour else "%-d %b")


def time_axis(unit: str, times: Iterable[datetime], most: float) -> TimeAxis:
    """Return the axis from the first of some times to the last, in a unit or, if there are too many, a larger one."""
    found = sorted(times)
    names = [each.name for each in UNITS]
    for each in UNITS[names.index(unit) :]:
        first, last = each.ordinal(found[0]), each.ordinal(found[-1])
        if last - first < most:
            break
    return TimeAxis(each, first, last - first + 1)


def add_up(axis: TimeAxis, values: Iterable[tuple[datetime, Sequence[float]]], series: int) -> list[list[float]]:
    """Return the sums of each place of an axis, by series."""
    sums = [[0.0] * series for _ in range(axis.size)]
    for time, parts in values:
        place = sums[axis.place(time)]
        for index, value in enumerate(parts):
            place[index] += value
    return sums
