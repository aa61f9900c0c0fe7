"""Draw heat maps: a square for each day of a year, and for each weekday and hour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta

from clew.report.charts.canvas import SIZE, Canvas, fit, rect, text_width
from clew.report.charts.columns import NARROW
from clew.report.charts.scale import Unit
from clew.report.charts.time_axis import format_time

STEPS = 5  # shades above "nothing"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
Link = Callable[[date], str]


def shades(values: Sequence[float]) -> list[float]:
    """Return the lower ends of the shades: each holds a fifth of the values above 0."""
    found = sorted(value for value in values if value > 0)
    return [found[len(found) * step // STEPS] for step in range(STEPS)] if found else []


def _shade(value: float, ends: Sequence[float]) -> str:
    return f"h{sum(value >= end for end in ends) if value > 0 else 0}"


def _scale_legend(canvas: Canvas, ends: Sequence[float], unit: Unit) -> None:
    """Add the shades, with the smallest and the largest value at which one begins."""
    if not ends:
        return
    y, x = canvas.y + 4, text_width("none") + 8
    canvas.text(0, y + 11, "none", kind="quiet")
    for step in range(STEPS + 1):
        canvas.rect(x, y, 13, 13, f"h{step}")
        x += 16
    canvas.text(x + 4, y + 11, fit(f"{unit.text(ends[-1])} or more", canvas.width - x - 4), kind="quiet")
    canvas.y = y + 20


def year_map(canvas: Canvas, values: Mapping[date, float], last: date, unit: Unit, link: Link | None = None) -> str:
    """Return a square for each day of the 53 weeks up to a day; on a narrow drawing in two rows."""
    bands = 2 if canvas.width <= NARROW else 1
    weeks = -(-53 // bands)
    left = max(map(text_width, WEEKDAYS)) + 8
    size = min(16.0, (canvas.width - left) / weeks)
    first = last - timedelta(days=last.weekday() + 7 * (bands * weeks - 1))
    ends = shades(list(values.values()))
    for band in range(bands):
        top = canvas.y + 18
        start = first + timedelta(days=7 * weeks * band)
        _month_labels(canvas, start, weeks, left, size, top)
        for row in (0, 2, 4, 6):
            canvas.text(left - 8, top + (row + 0.5) * size + SIZE * 0.36, WEEKDAYS[row], kind="quiet", anchor="end")
        for week in range(weeks):
            for row in range(7):
                day = start + timedelta(days=7 * week + row)
                if day <= last:
                    value = values.get(day, 0.0)
                    shape = rect(left + week * size + 1, top + row * size + 1, size - 2, size - 2, _shade(value, ends))
                    hint = f"{WEEKDAYS[row]} {day.isoformat()}: {unit.text(value)}"
                    canvas.target([shape], hint, link(day) if link and value else "")
        canvas.y = top + 7 * size + 8
    _scale_legend(canvas, ends, unit)
    return canvas.svg()


def _month_labels(canvas: Canvas, start: date, weeks: int, left: float, size: float, top: float) -> None:
    end = 0.0
    for week in range(weeks):
        day = start + timedelta(days=7 * week)
        if day.day <= 7:
            text = format_time(datetime(day.year, day.month, 1), "%b" if day.month > 1 else "%Y")
            x = left + week * size
            if x >= end and x + text_width(text) <= canvas.width:
                canvas.text(x, top - 6, text, kind="quiet")
                end = x + text_width(text) + 8


def hour_map(canvas: Canvas, values: Sequence[Sequence[float]], unit: Unit) -> str:
    """Return a square for each weekday and hour; `values` has a row for each weekday."""
    left = max(map(text_width, WEEKDAYS)) + 8
    size = min(26.0, (canvas.width - left) / 24)
    ends, top = shades([value for line in values for value in line]), canvas.y + 4
    for row, name in enumerate(WEEKDAYS):
        canvas.text(left - 8, top + (row + 0.5) * size + SIZE * 0.36, name, kind="quiet", anchor="end")
        for hour, value in enumerate(values[row]):
            shape = rect(left + hour * size + 1, top + row * size + 1, size - 2, size - 2, _shade(value, ends))
            canvas.target([shape], f"{name} {hour:02d}:00: {unit.text(value)}")
    for hour in range(0, 24, 3):
        canvas.text(left + hour * size + 1, top + 7 * size + 16, f"{hour:02d}", kind="quiet")
    canvas.text(left, top + 7 * size + 36, "Hour of the day", kind="quiet")
    canvas.y = top + 7 * size + 44
    _scale_legend(canvas, ends, unit)
    return canvas.svg()
