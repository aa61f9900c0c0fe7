"""Plot usage: as SVG charts, and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.facts.prices import MICRO, dollars
from clew.report.context_history import KINDS, ContextPoint
from clew.report.svg import Series, area_chart, bar_chart, heat_map
from clew.report.text_table import WIDEST, printable_name, short_number
from clew.report.timezone import DAY, Zone
from clew.report.usage_bucket import UsageBucket
from clew.report.usage_row import UsageRow
from clew.report.usage_table import UsageTable

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOURS = tuple(f"{hour:02d}" for hour in range(24))
SHADES = " ░▒▓█"
EIGHTHS = " ▏▎▍▌▋▊▉█"


def _format_dollars(value: float) -> str:
    return dollars(round(value * MICRO**2))


def _format_tokens(value: float) -> str:
    return short_number(round(value))


def models_by_cost(table: UsageTable) -> list[str]:
    """Return the models of a table, the most expensive first."""
    totals: dict[str, int] = {}
    for row in table.rows:
        for name, part in row.models.items():
            totals[name] = totals.get(name, 0) + (part.cost or part.total)
    return sorted(totals, key=lambda name: (-totals[name], name))


def cost_chart(table: UsageTable) -> str:
    """Return a bar chart of the cost by name, stacked by model."""
    series = [
        Series(model, [row.models[model].cost / MICRO**2 if model in row.models else 0.0 for row in table.rows])
        for model in models_by_cost(table)
    ]
    return bar_chart(f"Cost by {table.by}", [row.name for row in table.rows], series, _format_dollars)


def replies_by_hour(buckets: Sequence[UsageBucket], zone: Zone) -> list[list[int]]:
    """Return the number of replies by weekday and hour."""
    counts = [[0] * 24 for _ in WEEKDAYS]
    for bucket in buckets:
        if bucket.when >= 0:
            local = zone.local(bucket.when)
            counts[(local // DAY + 3) % 7][local % DAY // 3600] += bucket.replies
    return counts


def activity_chart(buckets: Sequence[UsageBucket], zone: Zone) -> str:
    values = replies_by_hour(buckets, zone)
    return heat_map("Replies by weekday and hour", WEEKDAYS, HOURS, values, lambda value: f"{round(value):,} replies")


def context_chart(points: Sequence[ContextPoint]) -> str:
    """Return an area chart of the context window, turn by turn."""
    series = [Series(kind, [point.parts[kind] for point in points]) for kind in KINDS]
    marks = [(index, "compacted") for index, point in enumerate(points) if point.is_compacted]
    return area_chart("Context by turn", [str(point.number) for point in points], series, _format_tokens, marks)


# -- in the terminal


def cost_lines(table: UsageTable, width: int, measure: Callable[[str], int] = len) -> list[str]:
    """Return a bar for each row, by cost, or by tokens if nothing has a price.

    `measure` returns the number of columns of a name; names take at most half of the width.
    """
    is_priced = any(row.cost for row in table.rows)
    values = [row.cost if is_priced else row.total for row in table.rows]
    names = [_shorten(printable_name(row.name), min(WIDEST, max(10, width // 2)), measure) for row in table.rows]
    first = max(map(measure, names), default=0)
    room = max(10, width - first - 14)
    lines: list[str] = []
    for name, value, row in zip(names, values, table.rows, strict=True):
        label = name + " " * (first - measure(name))
        lines.append(f"{label}  {bar(value, max(values), room).ljust(room)} {_format_amount(row, is_priced):>10}")
    return lines


def _shorten(name: str, room: int, measure: Callable[[str], int]) -> str:
    name = name if len(name) <= room else f"{name[: room - 1]}…"
    while measure(name) > room:
        name = f"{name[:-2]}…"
    return name


def _format_amount(row: UsageRow, is_priced: bool) -> str:
    return dollars(row.cost) if is_priced else short_number(row.total)


def bar(value: float, top: float, room: int) -> str:
    """Return a bar of up to `room` characters, in steps of an eighth."""
    eighths = round(8 * room * value / top) if top else 0
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def activity_lines(buckets: Sequence[UsageBucket], zone: Zone) -> list[str]:
    values = replies_by_hour(buckets, zone)
    top = max(map(max, values))
    lines = ["     " + "".join(hour.ljust(6) for hour in HOURS[::3])]
    for name, line in zip(WEEKDAYS, values, strict=True):
        shades = (SHADES[0 if not value else 1 + min(3, 4 * value // (top + 1))] for value in line)
        lines.append(f"{name}  {''.join(shade * 2 for shade in shades)}".rstrip())
    return lines


def context_lines(points: Sequence[ContextPoint], width: int) -> list[str]:
    """Return a bar for the window at the end of each turn; a compaction gets a separate line."""
    top = max((point.tokens for point in points), default=0)
    room = max(10, width - 18)
    lines: list[str] = []
    for point in points:
        if point.is_compacted:
            lines.append("      ── compacted ──")
        lines.append(f"{point.number:>4}  {bar(point.tokens, top, room).ljust(room)} {short_number(point.tokens):>8}")
    return lines
