"""Draw curves of growth: both axes are logarithmic, so that a straight line at 45° is linear growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from clew.report.charts.canvas import SERIES, Canvas, series_class, text_width

WIDTH, HEIGHT = 720, 340
LEFT, TOP = 56, 52


class Point(NamedTuple):
    """One run: the size of the input, CPU and wall seconds, and megabytes of all processes."""

    size: int
    cpu: float
    wall: float
    memory: float


class Curve(NamedTuple):
    name: str
    points: list[Point]


def growth_plot(curves: Sequence[Curve], axis: Literal["cpu", "memory"], unit: str) -> str:
    """Return an SVG file with one line for each command, and its name at the end of the line."""
    title = "CPU seconds" if axis == "cpu" else "Memory in MB"
    canvas = Canvas(f"{title} by {unit}", WIDTH, has_heading=True)
    values = [max(getattr(point, axis), 0.01) for curve in curves for point in curve.points]
    sizes = [point.size for point in curves[0].points]
    right = WIDTH - max(text_width(curve.name) for curve in curves) - 22
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x_of(size: float) -> float:
        first, last = math.log10(sizes[0]), math.log10(sizes[-1])
        return LEFT + (math.log10(size) - first) / (last - first) * (right - LEFT)

    def y_of(value: float) -> float:
        return TOP + (high - math.log10(max(value, 0.01))) / (high - low) * HEIGHT

    for power in range(low, high + 1):
        canvas.line(LEFT, y_of(10**power), right, y_of(10**power), "grid")
        canvas.text(LEFT - 8, y_of(10**power) + 4, f"{10**power:g}", kind="quiet", anchor="end")
    for size in sizes:
        canvas.line(x_of(size), TOP, x_of(size), TOP + HEIGHT, "grid")
        canvas.text(x_of(size), TOP + HEIGHT + 18, _short(size), kind="quiet", anchor="middle")
    steps = min(high - low, math.log10(sizes[-1] / sizes[0]))  # powers of ten up to the top or the right
    canvas.line(LEFT, y_of(10**low), x_of(sizes[0] * 10**steps), y_of(10 ** (low + steps)), "axis")
    canvas.text(right - 8, TOP + HEIGHT - 8, "the thin line: linear growth", kind="quiet", anchor="end")
    ends = _spread([y_of(getattr(curve.points[-1], axis)) for curve in curves])
    for number, (curve, end) in enumerate(zip(curves, ends, strict=True)):
        kind = series_class(number % (SERIES - 1))  # the last colour is that of "other"
        places = [(x_of(point.size), y_of(getattr(point, axis))) for point in curve.points]
        for (x1, y1), (x2, y2) in pairwise(places):
            canvas.path(_stroke(x1, y1, x2, y2), kind)
        for x, y in places:
            canvas.rect(x - 3, y - 3, 6, 6, kind)
        canvas.text(right + 14, end + 4, curve.name)
        canvas.path(_stroke(right + 3, places[-1][1], right + 11, end, 0.5), kind)
    canvas.y = TOP + HEIGHT + 26
    return canvas.standalone(canvas.svg())


def _stroke(x1: float, y1: float, x2: float, y2: float, half: float = 1.0) -> list[tuple[float, float]]:
    """The corners of a line that has a width: shapes of charts are filled."""
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    x, y = half * (y1 - y2) / length, half * (x2 - x1) / length
    return [(x1 + x, y1 + y), (x2 + x, y2 + y), (x2 - x, y2 - y), (x1 - x, y1 - y)]


def _spread(places: Sequence[float], least: float = 16.0) -> list[float]:
    """Move labels apart that would overlap."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = list(places)
    for before, now in pairwise(order):
        moved[now] = max(moved[now], moved[before] + least)
    over = max(0.0, moved[order[-1]] - (TOP + HEIGHT))
    for now, after in zip(reversed(order[:-1]), reversed(order[1:]), strict=False):
        moved[after] = min(moved[after], TOP + HEIGHT) if over else moved[after]
        moved[now] = min(moved[now], moved[after] - least)
    return moved


def _short(size: int) -> str:
    for factor, unit in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
        if size >= factor:
            return f"{size / factor:g}{unit}"
    return str(size)
