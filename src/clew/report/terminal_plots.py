"""Plot usage as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from clew.facts.prices import dollars
from clew.report.charts.heat_map import WEEKDAYS
from clew.report.charts.time_axis import UNITS, parse_time
from clew.report.context_history import ContextPoint
from clew.report.plots import replies_by_hour
from clew.report.text_table import WIDEST, printable_name, short_number
from clew.report.timezone import Zone
from clew.report.usage_bucket import UsageBucket
from clew.report.usage_row import UsageRow
from clew.report.usage_table import TIMES, UsageTable
from clew.system.plural import plural
from clew.system.terminal_style import TerminalStyle

SHADES = " ░▒▓█"
EIGHTHS = " ▏▎▍▌▋▊▉█"
BAR = "link"  # the look of bars
PLAIN = TerminalStyle(0)
GAP = 3  # empty hours, days, weeks or months that are drawn one by one


def cost_lines(
    table: UsageTable, width: int, measure: Callable[[str], int] = len, *, style: TerminalStyle = PLAIN
) -> list[str]:
    """Return a bar for each row, by cost, or by tokens if nothing has a price. Times without use have a place too.

    `measure` returns the number of columns of a name; names take at most half of the width.
    """
    is_priced = any(row.cost for row in table.rows)
    rows = list(_with_gaps(table)) if table.by in TIMES else table.rows
    top = max((row.cost if is_priced else row.total for row in rows), default=0)
    names = [_shorten(printable_name(row.name), min(WIDEST, max(10, width // 2)), measure) for row in rows]
    first = max(map(measure, names), default=0)
    room = max(10, width - first - 14)
    lines: list[str] = []
    for name, row in zip(names, rows, strict=True):
        value = row.cost if is_priced else row.total
        label = name + " " * (first - measure(name))
        amount = dollars(row.cost) if is_priced else short_number(row.total)
        if isinstance(row, _Gap):
            lines.append(style(label.rstrip(), "quiet"))
            continue
        lines.append(f"{label}  {style(bar(value, top, room).ljust(room), BAR)} {amount:>10}".rstrip())
    return lines


class _Gap(UsageRow):
    """Times without use, named as one."""


def _with_gaps(table: UsageTable) -> Iterator[UsageRow]:
    """Yield the rows of a table by time, and between them one for each time without use; a long gap is one row."""
    unit = next(each for each in UNITS if each.name == table.by)
    form = {"hour": "%Y-%m-%d %H:00", "month": "%Y-%m"}.get(table.by, "%Y-%m-%d")
    before: int | None = None
    for row in table.rows:
        time = parse_time(row.name)
        index = unit.ordinal(time) if time else None
        empty = range(before + 1, index) if before is not None and index is not None else range(0)
        if len(empty) > GAP:
            yield _Gap(f"· {plural(len(empty), f'empty {table.by}')} ·")
        else:
            yield from (UsageRow(unit.start(each).strftime(form)) for each in empty)
        yield row
        before = index


def _shorten(name: str, room: int, measure: Callable[[str], int]) -> str:
    name = name if len(name) <= room else f"{name[: room - 1]}…"
    while measure(name) > room:
        name = f"{name[:-2]}…"
    return name


def bar(value: float, top: float, room: int) -> str:
    """Return a bar of up to `room` characters, in steps of an eighth."""
    eighths = round(8 * room * value / top) if top else 0
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def activity_lines(buckets: Iterable[UsageBucket], zone: Zone, style: TerminalStyle = PLAIN) -> list[str]:
    values = replies_by_hour(buckets, zone)
    top = max(map(max, values))
    lines = [style("     " + "".join(f"{hour:02d}".ljust(6) for hour in range(0, 24, 3)), "quiet")]
    for name, line in zip(WEEKDAYS, values, strict=True):
        shades = (SHADES[0 if not value else 1 + min(3, 4 * value // (top + 1))] for value in line)
        lines.append(f"{name}  {style(''.join(shade * 2 for shade in shades).rstrip(), 'accent')}".rstrip())
    return lines


def context_lines(
    points: Sequence[ContextPoint], width: int, height: int = 0, *, style: TerminalStyle = PLAIN
) -> list[str]:
    """Return a bar for the window at the end of each turn, with a mark for a compaction.

    With a `height`, neighbouring turns share a line so that there are at most `height` lines.
    """
    top = max((point.tokens for point in points), default=0)
    size = -(-len(points) // height) if height else 1
    groups = [points[start : start + size] for start in range(0, len(points), max(1, size))]
    names = [_range(group[0].number, group[-1].number) for group in groups]
    first = max(map(len, names), default=0)
    room = max(10, width - first - 24)
    lines: list[str] = []
    for name, group in zip(names, groups, strict=True):
        mark = style("  compacted", "warn") if any(point.is_compacted for point in group) else ""
        tokens = group[-1].tokens
        drawn = style(bar(tokens, top, room).ljust(room), BAR)
        lines.append(f"{name:>{first}}  {drawn} {short_number(tokens):>8}{mark}")
    return lines


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"
