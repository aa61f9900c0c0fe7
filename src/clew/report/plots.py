"""Choose what the charts of usage show: cost by time or name, activity, context, turns, blocks and waste."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

from clew.facts.prices import MICRO
from clew.report.charts.canvas import SERIES, Canvas
from clew.report.charts.columns import THINNEST, Column, area_chart, column_chart, number_labels
from clew.report.charts.figure import WIDE, Figure, FigureRow
from clew.report.charts.heat_map import WEEKDAYS, hour_map, year_map
from clew.report.charts.name_bars import name_chart
from clew.report.charts.scale import MONEY, REPLIES, TOKENS, Unit
from clew.report.charts.time_axis import TimeAxis, add_up, parse_time, time_axis
from clew.report.context_history import KINDS, ContextPoint
from clew.report.five_hour_blocks import FiveHourBlock
from clew.report.timezone import DAY, Zone
from clew.report.usage_bucket import UsageBucket
from clew.report.usage_row import UsageRow
from clew.report.usage_table import TIMES, UsageTable
from clew.report.waste import Waste

SpanLink = Callable[[datetime, datetime], str]


class Amounts(NamedTuple):
    """Amounts by series at one time or for one name."""

    name: str
    parts: Mapping[str, float]
    link: str = ""


def price(row: UsageRow) -> float:
    return row.cost / MICRO**2


def main_series(rows: Iterable[Amounts]) -> list[str]:
    """Return the names of the series, the largest first; those without a colour are one, "other"."""
    totals: dict[str, float] = {}
    for row in rows:
        for name, value in row.parts.items():
            totals[name] = totals.get(name, 0) + value
    names = sorted((name for name in totals if totals[name]), key=lambda name: (-totals[name], name))
    return names if len(names) < SERIES else [*names[: SERIES - 1], "other"]


def _values(parts: Mapping[str, float], series: Sequence[str]) -> list[float]:
    values = [parts.get(name, 0.0) for name in series]
    if series and series[-1] == "other":
        values[-1] = sum(value for name, value in parts.items() if name not in series[:-1])
    return values


def time_figure(
    title: str,
    by: str,
    rows: Sequence[Amounts],
    unit: Unit,
    *,
    link: SpanLink | None = None,
    ends: Sequence[datetime] = (),
    width: int = WIDE,
) -> Figure:
    """Return amounts over time; the names of rows are times, and `ends` are times that the axis reaches."""
    series = main_series(rows) or [""]
    timed = [(time, _values(row.parts, series)) for row in rows if (time := parse_time(row.name))]
    without = sum(sum(row.parts.values()) for row in rows if parse_time(row.name) is None)
    times = [*(time for time, _ in timed), *ends]

    def columns(axis: TimeAxis) -> list[Column]:
        sums = add_up(axis, timed, len(series))
        return [
            Column(axis.describe(index), values, link(*axis.span(index)) if link and any(values) else "")
            for index, values in enumerate(sums)
        ]

    def draw(canvas: Canvas) -> str:
        if not times:
            return canvas.svg()
        axis = time_axis(by, times, (canvas.width - 60) / THINNEST)
        note = f"; {unit.text(without)} without a time is not drawn" if without else ""
        return column_chart(canvas, columns(axis), series, unit, axis.name + note, axis.labels)

    found = time_axis(by, times, (width - 60) / THINNEST) if times else None
    return Figure(
        title,
        draw,
        _head(found.unit.name.capitalize() if found else "Time", series),
        _table_rows(columns(found) if found else [], unit),
        width,
    )


def _head(first: str, series: Sequence[str]) -> tuple[str, ...]:
    return (first, *series, "Total") if len(series) > 1 else (first, series[0] or "Total")


def _table_rows(columns: Iterable[Column], unit: Unit) -> list[FigureRow]:
    return [
        FigureRow(
            each.name,
            tuple(map(unit.text, (*each.values, sum(each.values)) if len(each.values) > 1 else each.values)),
            each.link,
        )
        for each in columns
        if any(each.values)
    ]


def name_figure(title: str, head: str, rows: Sequence[Amounts], unit: Unit, *, width: int = WIDE) -> Figure:
    """Return amounts by name, the largest first."""
    series = main_series(rows) or [""]
    bars = [Column(row.name, _values(row.parts, series), row.link) for row in rows]
    bars.sort(key=lambda bar: -sum(bar.values))
    return Figure(
        title,
        lambda canvas: name_chart(canvas, bars, series, unit),
        _head(head, series),
        _table_rows(bars, unit),
        width,
    )


def cost_figure(
    table: UsageTable,
    names: Mapping[str, str],
    *,
    link: Callable[[str], str] | None = None,
    span: SpanLink | None = None,
    ends: Sequence[datetime] = (),
    width: int = WIDE,
) -> Figure:
    """Return the cost of a table with models, or its tokens if nothing has a price. `names` are those that people know."""
    is_priced = any(row.cost for row in table.rows)
    rows = [
        Amounts(
            row.name if table.by in TIMES else names.get(row.name, row.name),
            {name: price(part) if is_priced else part.total for name, part in row.models.items()},
            link(row.name) if link else "",
        )
        for row in table.rows
    ]
    unit, title = MONEY if is_priced else TOKENS, f"{'Cost' if is_priced else 'Tokens'} by {table.by}"
    if table.by in TIMES:
        return time_figure(title, table.by, rows, unit, link=span, ends=ends, width=width)
    return name_figure(title, table.by.capitalize(), rows, unit, width=width)


def short_paths(paths: Mapping[str, str]) -> dict[str, str]:
    """Return the last part of each path, as lists of sessions show it; with its parent if two paths share that part."""
    parts = {key: [part for part in path.replace("\\", "/").split("/") if part] for key, path in paths.items()}
    last = [each[-1] if each else "" for each in parts.values()]
    return {
        key: "/".join(each[-1 if last.count(each[-1]) == 1 else -2 :]) if each else paths[key]
        for key, each in parts.items()
    }


# -- activity


def replies_by_hour(buckets: Iterable[UsageBucket], zone: Zone) -> list[list[int]]:
    """Return the number of replies by weekday and hour."""
    counts = no_hours()
    for bucket in buckets:
        add_hour(counts, bucket, zone)
    return counts


def no_hours() -> list[list[int]]:
    """Return a zero for each hour of each weekday."""
    return [[0] * 24 for _ in WEEKDAYS]


def add_hour(counts: list[list[int]], bucket: UsageBucket, zone: Zone) -> None:
    """Add the replies of a bucket to their weekday and hour."""
    if bucket.when >= 0:
        local = zone.local(bucket.when)
        counts[(local // DAY + 3) % 7][local % DAY // 3600] += bucket.replies


def activity_figure(buckets: Iterable[UsageBucket], zone: Zone) -> Figure:
    return hours_figure(replies_by_hour(buckets, zone), REPLIES)


def hours_figure(values: Sequence[Sequence[int]], unit: Unit, width: int = 500) -> Figure:
    """Return amounts by weekday and hour."""
    rows = [FigureRow(name, tuple(f"{value:,}" for value in line)) for name, line in zip(WEEKDAYS, values, strict=True)]
    head = ("Weekday", *(f"{hour:02d}" for hour in range(24)))
    title = f"{unit.name} by weekday and hour"
    return Figure(title, lambda canvas: hour_map(canvas, values, unit), head, rows, width)


def year_figure(
    values: Mapping[date, float], last: date, unit: Unit, link: Callable[[date], str] | None = None
) -> Figure:
    """Return the amounts of each day of a year."""
    rows = [
        FigureRow(day.isoformat(), (unit.text(value),), link(day) if link else "")
        for day, value in sorted(values.items(), reverse=True)
        if value
    ]
    title = f"The year up to {last.isoformat()}"
    return Figure(title, lambda canvas: year_map(canvas, values, last, unit, link), ("Day", unit.name), rows, 760)


# -- one session


def _merged(columns: Sequence[Column], most: float, merge: Callable[[Sequence[float]], float]) -> list[Column]:
    """Return at most `most` columns: neighbours become one, with the values that `merge` returns."""
    size = max(1, -int(-len(columns) // most))
    groups = [columns[start : start + size] for start in range(0, len(columns), size)]
    return [
        Column(
            group[0].name
            if len(group) == 1
            else f"{group[0].name.partition(':')[0]} to {group[-1].name.partition(':')[0].lower()}",
            [merge(values) for values in zip(*(column.values for column in group), strict=True)],
            group[0].link,
        )
        for group in groups
    ]


def context_figure(points: Sequence[ContextPoint], window: int = 0, link: Callable[[int], str] | None = None) -> Figure:
    """Return the context window turn by turn, with the limit of the model and the compactions."""
    columns = [
        Column(f"Turn {point.number}", [point.parts[kind] for kind in KINDS], link(point.number) if link else "")
        for point in points
    ]

    def draw(canvas: Canvas) -> str:
        drawn = _merged(columns, (canvas.width - 60) / THINNEST, lambda values: values[-1])
        size = -(-len(columns) // len(drawn)) if drawn else 1
        marks = {index // size for index, point in enumerate(points) if point.is_compacted}
        numbers = number_labels([column.name.split()[1] for column in drawn])
        limit = (float(window), f"limit {TOKENS.text(window)}") if window else None
        return area_chart(
            canvas, drawn, KINDS, TOKENS, "Turn", numbers, limit=limit, marks=sorted(marks), mark_name="compacted"
        )

    return Figure("Context by turn", draw, _head("Turn", KINDS), _table_rows(columns, TOKENS))


def turns_figure(rows: Sequence[UsageRow], link: Callable[[int], str] | None = None) -> Figure:
    """Return the cost of each turn of a session by model; the names of rows begin with the number of the turn."""
    is_priced = any(row.cost for row in rows)
    amounts = [
        Amounts(row.name, {name: price(part) if is_priced else part.total for name, part in row.models.items()})
        for row in rows
    ]
    series, columns = main_series(amounts) or [""], []
    for row in amounts:
        first = row.name.split()[0] if row.name.split() else ""
        name = f"Turn {first}" if first.isdigit() else "Other branches"
        columns.append(Column(name, _values(row.parts, series), link(int(first)) if link and first.isdigit() else ""))
    unit = MONEY if is_priced else TOKENS

    def draw(canvas: Canvas) -> str:
        drawn = _merged(columns, (canvas.width - 60) / THINNEST, sum)
        names = [column.name.split()[1] if column.name.startswith("Turn") else "" for column in drawn]
        return column_chart(canvas, drawn, series, unit, "Turn", number_labels(names))

    title = f"{'Cost' if is_priced else 'Tokens'} by turn"
    return Figure(title, draw, _head("Turn", series), _table_rows(columns, unit))


# -- other views


def blocks_figure(blocks: Sequence[FiveHourBlock], zone: Zone, width: int = WIDE) -> Figure:
    is_priced = any(block.row.cost for block in blocks)
    rows = [
        Amounts(zone.hour(block.start), {"": price(block.row) if is_priced else block.row.total}) for block in blocks
    ]
    title = f"{'Cost' if is_priced else 'Tokens'} of blocks of five hours, by their beginning"
    return time_figure(title, "hour", rows, MONEY if is_priced else TOKENS, width=width)


def waste_figure(waste: Sequence[Waste]) -> Figure:
    is_priced = any(each.cost for each in waste)
    rows = [Amounts(each.kind, {"": each.cost / MICRO**2 if is_priced else each.tokens}) for each in waste]
    title = f"{'Cost' if is_priced else 'Tokens'} without use, by kind (kinds overlap)"
    return name_figure(title, "Kind", rows, MONEY if is_priced else TOKENS)
