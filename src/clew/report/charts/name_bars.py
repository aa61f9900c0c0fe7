"""Draw horizontal bars for names: the largest twelve, and the rest as "other"."""

from __future__ import annotations

from collections.abc import Sequence

from clew.report.charts.canvas import Canvas, fit, rect, series_class, text_width
from clew.report.charts.columns import NARROW, Column, describe_column, used_series
from clew.report.charts.scale import Unit

MOST = 12
_ROW, _BAR = 26, 14


def largest(rows: Sequence[Column], most: int = MOST) -> list[Column]:
    """Return the first rows, and the sum of the others as one row."""
    if len(rows) <= most + 1:
        return list(rows)
    rest = rows[most:]
    sums = [sum(values) for values in zip(*(row.values for row in rest), strict=True)]
    return [*rows[:most], Column(f"other ({len(rest)})", sums)]


def name_chart(canvas: Canvas, rows: Sequence[Column], series: Sequence[str], unit: Unit) -> str:
    """Return a bar for each name with its value; on a narrow drawing the name is above its bar."""
    rows = largest(rows)
    is_narrow = canvas.width <= NARROW
    values = [unit.text(sum(row.values)) for row in rows]
    end = max(map(text_width, values), default=0) + 8
    names = [fit(row.name, canvas.width if is_narrow else canvas.width * 0.38) for row in rows]
    left = 0.0 if is_narrow else max(map(text_width, names), default=0) + 10
    top, room = max((sum(row.values) for row in rows), default=0) or 1.0, canvas.width - left - end
    canvas.text(left, canvas.y + 12, fit(unit.name, canvas.width - left), kind="quiet")
    canvas.y += 20
    for row, name, value in zip(rows, names, values, strict=True):
        y = canvas.y + (22 if is_narrow else 6)
        shapes, x = [rect(0, canvas.y, canvas.width, y + 20 - canvas.y, "hit")], left
        for place, part in enumerate(row.values):
            if part > 0:
                wide = room * part / top
                shapes.append(rect(x, y, wide, _BAR, series_class(place, series[place])))
                x += wide
        canvas.target(shapes, describe_column(row, series, unit), row.link)
        canvas.text(
            0 if is_narrow else left - 10, y - 6 if is_narrow else y + 11, name, anchor="start" if is_narrow else "end"
        )
        canvas.text(x + 8, y + 11, value, kind="quiet")
        canvas.y = y + 20
    canvas.y += 6
    canvas.legend(used_series(rows, series))
    return canvas.svg()
