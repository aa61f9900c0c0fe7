"""Draw values along an axis: stacked columns by time or turn, and stacked areas with a limit and marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from clew.report.charts.canvas import Canvas, fit, mark, rect, series_class, text_width
from clew.report.charts.scale import Unit, axis_values, round_step

NARROW = 340  # width of a drawing for a phone
THINNEST = 2.2  # pixels of a column and its gap
_HIGH, _LOW = 240, 170


class Column(NamedTuple):
    """One place on the axis: its name, a value for each series, and the address of what it counts."""

    name: str
    values: Sequence[float]
    link: str = ""


Labels = Callable[[float, float, float], list[tuple[float, str]]]  # by width, left edge and frame


class Plot:
    """The frame of a chart with axes: `left`, `right`, `top` and `bottom` are the edges of the area to draw in."""

    def __init__(self, canvas: Canvas, top: float, unit: Unit, *, room: float = 0) -> None:
        self.canvas = canvas
        values, step = axis_values(top, unit)
        self.limit = values[-1]
        texts = [unit.tick(value, step) for value in values]
        self.left = max(map(text_width, texts)) + 8
        self.right = float(canvas.width - 2)
        canvas.text(0, canvas.y + 12, fit(unit.name, canvas.width - room), kind="quiet")
        self.top = canvas.y + 26
        self.bottom = self.top + (_LOW if canvas.width <= NARROW else _HIGH)
        for value, text in zip(values, texts, strict=True):
            canvas.line(self.left, self.y(value), self.right, self.y(value), "grid" if value else "axis")
            canvas.text(self.left - 8, self.y(value) + 4, text, kind="quiet", anchor="end")
        canvas.y = self.bottom

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * value / self.limit

    def label_axis(self, name: str, labels: Labels) -> None:
        canvas = self.canvas
        for x, text in labels(self.right - self.left, self.left, canvas.width):
            canvas.text(x, self.bottom + 20, text, kind="quiet", anchor="middle")
        canvas.text(self.left, self.bottom + 40, fit(name, canvas.width - self.left), kind="quiet")
        canvas.y = self.bottom + 46


def column_chart(
    canvas: Canvas, columns: Sequence[Column], series: Sequence[str], unit: Unit, axis: str, labels: Labels
) -> str:
    """Return a chart of stacked columns."""
    plot = Plot(canvas, max((sum(column.values) for column in columns), default=0), unit)
    step = (plot.right - plot.left) / max(1, len(columns))
    wide = min(step * 0.8, 36) if step > 4 else step - 0.4
    for index, column in enumerate(columns):
        x = plot.left + index * step
        shapes, below = [rect(x, plot.top, step, plot.bottom - plot.top, "hit")], 0.0
        for place, value in enumerate(column.values):
            if value > 0:
                y, kind = plot.y(below + value), series_class(place, series[place])
                shapes.append(rect(x + (step - wide) / 2, y, wide, plot.y(below) - y, kind))
                below += value
        if below:
            canvas.target(shapes, describe_column(column, series, unit), column.link)
    plot.label_axis(axis, labels)
    canvas.legend(used_series(columns, series))
    return canvas.svg()


def area_chart(
    canvas: Canvas,
    columns: Sequence[Column],
    series: Sequence[str],
    unit: Unit,
    axis: str,
    labels: Labels,
    *,
    limit: tuple[float, str] | None = None,
    marks: Sequence[int] = (),
    mark_name: str = "",
) -> str:
    """Return a chart of stacked areas. `limit` is a line with its name, `marks` are places on the axis."""
    top = max((sum(column.values) for column in columns), default=0)
    is_near = limit is not None and limit[0] <= 4 * top
    text = fit(limit[1], canvas.width / 2) if limit else ""
    plot = Plot(canvas, max(top, limit[0]) if limit and is_near else top, unit, room=text_width(text) + 20)
    step = (plot.right - plot.left) / max(1, len(columns))
    centres = [plot.left + (index + 0.5) * step for index in range(len(columns))]
    below = [0.0] * len(columns)
    for place, name in enumerate(series):
        above = [low + column.values[place] for low, column in zip(below, columns, strict=True)]
        if any(column.values[place] for column in columns):
            canvas.path(
                _outline(centres, above, plot) + _outline(centres, below, plot)[::-1], series_class(place, name)
            )
        below = above
    if limit and is_near:
        canvas.line(plot.left, plot.y(limit[0]), plot.right, plot.y(limit[0]), "limit")
        canvas.text(plot.right, plot.y(limit[0]) - 5, text, kind="bad", anchor="end")
    for index, column in enumerate(columns):
        shape = rect(plot.left + index * step, plot.top, step, plot.bottom - plot.top, "hit")
        shapes = [shape, mark(centres[index], plot.bottom)] if index in marks else [shape]
        canvas.target(shapes, describe_column(column, series, unit), column.link)
    plot.label_axis(axis, labels)
    entries = used_series(columns, series) + ([("mark", mark_name)] if marks else [])
    canvas.legend(entries if is_near or not limit else [*entries, ("none", f"{limit[1]} (above this chart)")])
    return canvas.svg()


def _outline(centres: Sequence[float], values: Sequence[float], plot: Plot) -> list[tuple[float, float]]:
    """Return the edge of an area; it reaches both sides of the plot, so that a single point is visible."""
    points = [(x, plot.y(value)) for x, value in zip(centres, values, strict=True)]
    return [(plot.left, points[0][1]), *points, (plot.right, points[-1][1])]


def describe_column(column: Column, series: Sequence[str], unit: Unit) -> str:
    """Return the meaning of a column: "16 Nov 2026: $1.20 (opus $1.00, haiku $0.20)"."""
    parts = [f"{name} {unit.text(value)}" for name, value in zip(series, column.values, strict=True) if value and name]
    rest = f" ({', '.join(parts)})" if parts else ""
    return f"{column.name[:80]}: {unit.text(sum(column.values))}{rest}"


def used_series(columns: Sequence[Column], series: Sequence[str]) -> list[tuple[str, str]]:
    """Return class and name of each series that has a value."""
    return [
        (series_class(place, name), name)
        for place, name in enumerate(series)
        if name and any(column.values[place] for column in columns)
    ]


def number_labels(names: Sequence[str]) -> Labels:
    """Return labels for numbered places: the first of them, and every second, fifth, tenth … as have room."""

    def labels(width: float, left: float, frame: float) -> list[tuple[float, str]]:
        step = width / max(1, len(names))
        widest = max(map(text_width, names), default=0) + 12
        every = max(1, round(round_step(widest / step)))
        chosen = [index for index in range(len(names)) if index == 0 or (index + 1) % every == 0]
        if len(chosen) > 1 and (chosen[1] - chosen[0]) * step < widest:
            del chosen[1]
        places = [(left + (index + 0.5) * step, names[index]) for index in chosen]
        return [(min(max(x, text_width(text) / 2), frame - text_width(text) / 2), text) for x, text in places]

    return labels
