"""Plots: what is drawn of usage, as pictures and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.facts.prices import MICRO, dollars
from clew.report.context_history import KINDS, ContextPoint
from clew.report.svg import Series, areas, bars, heat
from clew.report.text_table import WIDEST, short, shown
from clew.report.timezone import DAY, Zone
from clew.report.usage_bucket import Cell
from clew.report.usage_row import UsageRow
from clew.report.usage_table import UsageTable

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOURS = tuple(f"{hour:02d}" for hour in range(24))
SHADES = " ░▒▓█"
EIGHTHS = " ▏▎▍▌▋▊▉█"


def _money(value: float) -> str:
    return dollars(round(value * MICRO**2))


def _tokens(value: float) -> str:
    return short(round(value))


def models_of(table: UsageTable) -> list[str]:
    """The models of a table, the dearest first."""
    totals: dict[str, int] = {}
    for row in table.rows:
        for name, part in row.models.items():
            totals[name] = totals.get(name, 0) + (part.cost or part.total)
    return sorted(totals, key=lambda name: (-totals[name], name))


def cost_picture(table: UsageTable) -> str:
    """Cost by name, the models on top of each other."""
    series = [
        Series(model, [row.models[model].cost / MICRO**2 if model in row.models else 0.0 for row in table.rows])
        for model in models_of(table)
    ]
    return bars(f"Cost by {table.by}", [row.name for row in table.rows], series, _money)


def activity(cells: Sequence[Cell], zone: Zone) -> list[list[int]]:
    """Replies by weekday and hour."""
    found = [[0] * 24 for _ in WEEKDAYS]
    for cell in cells:
        if cell.when >= 0:
            local = zone.local(cell.when)
            found[(local // DAY + 3) % 7][local % DAY // 3600] += cell.replies
    return found


def activity_picture(cells: Sequence[Cell], zone: Zone) -> str:
    values = activity(cells, zone)
    return heat("Replies by weekday and hour", WEEKDAYS, HOURS, values, lambda value: f"{round(value):,} replies")


def context_picture(points: Sequence[ContextPoint]) -> str:
    """The window of a session, turn by turn."""
    series = [Series(kind, [point.parts[kind] for point in points]) for kind in KINDS]
    marks = [(index, "compacted") for index, point in enumerate(points) if point.is_compacted]
    return areas("Context by turn", [str(point.number) for point in points], series, _tokens, marks)


# -- in the terminal


def cost_lines(table: UsageTable, width: int, measure: Callable[[str], int] = len) -> list[str]:
    """A bar for each row, as long as its cost; of tokens where nothing has a price.

    `measure` says how many columns a name takes; names take at most half of the width.
    """
    is_priced = any(row.cost for row in table.rows)
    values = [row.cost if is_priced else row.total for row in table.rows]
    names = [_shortened(shown(row.name), min(WIDEST, max(10, width // 2)), measure) for row in table.rows]
    first = max(map(measure, names), default=0)
    room = max(10, width - first - 14)
    return [
        f"{name}{' ' * (first - measure(name))}  {bar(value, max(values), room).ljust(room)} {_said(row, is_priced):>10}"
        for name, value, row in zip(names, values, table.rows, strict=True)
    ]


def _shortened(name: str, room: int, measure: Callable[[str], int]) -> str:
    name = name if len(name) <= room else f"{name[: room - 1]}…"
    while measure(name) > room:
        name = f"{name[:-2]}…"
    return name


def _said(row: UsageRow, is_priced: bool) -> str:
    return dollars(row.cost) if is_priced else short(row.total)


def bar(value: float, top: float, room: int) -> str:
    """A bar in eighths of a letter."""
    eighths = round(8 * room * value / top) if top else 0
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def activity_lines(cells: Sequence[Cell], zone: Zone) -> list[str]:
    values = activity(cells, zone)
    top = max(map(max, values))
    lines = ["     " + "".join(hour.ljust(6) for hour in HOURS[::3])]
    for name, line in zip(WEEKDAYS, values, strict=True):
        shades = (SHADES[0 if not value else 1 + min(3, 4 * value // (top + 1))] for value in line)
        lines.append(f"{name}  {''.join(shade * 2 for shade in shades)}".rstrip())
    return lines


def context_lines(points: Sequence[ContextPoint], width: int) -> list[str]:
    """The size of the window at the end of each turn; a compaction has a line of its own."""
    top = max((point.tokens for point in points), default=0)
    room = max(10, width - 18)
    lines: list[str] = []
    for point in points:
        if point.is_compacted:
            lines.append("      ── compacted ──")
        lines.append(f"{point.number:>4}  {bar(point.tokens, top, room).ljust(room)} {short(point.tokens):>8}")
    return lines
