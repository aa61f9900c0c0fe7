"""`clew usage --plot`: draw it, in the terminal or into a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from clew.cli.cost.usage_request import UsageOptions, terminal_width
from clew.cli.output import print_message
from clew.errors import ClewError
from clew.facts.prices import Prices
from clew.report.charts.canvas import render_png
from clew.report.charts.figure import Figure, html_page
from clew.report.collect_buckets import CollectedBuckets
from clew.report.context_history import ContextPoint
from clew.report.five_hour_blocks import FiveHourBlock
from clew.report.plots import (
    activity_figure,
    blocks_figure,
    context_figure,
    cost_figure,
    short_paths,
    turns_figure,
    waste_figure,
)
from clew.report.terminal_plots import activity_lines, context_lines, cost_lines
from clew.report.timezone import Zone
from clew.report.usage_row import UsageRow
from clew.report.usage_table import UsageTable, build_table, select_buckets
from clew.report.waste import Waste
from clew.system.extras import install_hint
from clew.system.terminal_style import stdout_style
from clew.view.sanitize import columns
from clew.wire.session_writer import create_exactly

ENDINGS = (".svg", ".html", ".png")


def draw(
    plan: UsageOptions, collected: CollectedBuckets, table: UsageTable, prices: Prices, names: Mapping[str, str]
) -> int:
    """Draw the cost by what was asked, stacked by model, and the activity by weekday and hour."""
    if not table.rows:
        print_message("No usage here to draw.")
        return 1
    zone = Zone(plan.query.zone)
    query = plan.query
    if plan.plot in (None, "-"):
        for row in table.rows:
            row.name = names.get(row.name, row.name)
        activity = collected.read(lambda each: activity_lines(select_buckets(each, query), zone, stdout_style()))
        return _print(_bars(table, columns), ["", *activity])
    names = short_paths(names) if table.by == "project" else names
    stacked = collected.read(lambda each: build_table(each, query._replace(by_model=True), prices))
    figure = collected.read(lambda each: activity_figure(select_buckets(each, query), zone))
    return write(plan, f"Usage by {table.by}", [cost_figure(stacked, names), figure])


def draw_context(plan: UsageOptions, points: Sequence[ContextPoint], window: int) -> int:
    if plan.plot in (None, "-"):
        return _print(
            context_lines(points, terminal_width() or 80, shutil.get_terminal_size().lines - 2, style=stdout_style())
        )
    return write(plan, "Context by turn", [context_figure(points, window)])


def draw_turns(plan: UsageOptions, table: UsageTable) -> int:
    if plan.plot in (None, "-"):
        return _print(_bars(table, columns))
    return write(plan, "Usage by turn", [turns_figure(table.rows)])


def draw_blocks(plan: UsageOptions, blocks: Sequence[FiveHourBlock], zone: Zone) -> int:
    if plan.plot in (None, "-"):
        table = UsageTable("block", [block.row for block in blocks], UsageRow("Total"))
        return _print(_bars(table))
    return write(plan, "Blocks of five hours", [blocks_figure(blocks, zone)])


def draw_waste(plan: UsageOptions, waste: Sequence[Waste]) -> int:
    if plan.plot not in (None, "-"):
        return write(plan, "Waste", [waste_figure(waste)])
    rows = [UsageRow(each.kind) for each in waste]
    for row, each in zip(rows, waste, strict=True):
        row.cost, row.input = each.cost, each.tokens
    return _print(_bars(UsageTable("kind", rows, UsageRow("Total"))))


def _bars(table: UsageTable, measure: Callable[[str], int] = len) -> list[str]:
    return cost_lines(table, terminal_width() or 80, measure, style=stdout_style())


def _print(*groups: Sequence[str]) -> int:
    for line in (line for lines in groups for line in lines):
        print(line)
    return 0


def _pixels(picture: str) -> bytes:
    try:
        data = render_png(picture)
    except ModuleNotFoundError:
        raise ClewError(
            "A .png needs the package resvg_py.", hint=f"{install_hint('plot')}; or write an .svg."
        ) from None
    if data is None:
        raise ValueError("a .png needs a font, and this machine has none: draw an .svg, which needs none here")
    return data


def write(plan: UsageOptions, title: str, figures: Sequence[Figure]) -> int:
    """Write a new file; an SVG or PNG holds the first chart, a page all of them."""
    path = Path(plan.plot or "")
    if path.suffix not in ENDINGS:
        raise ValueError(f"{path} has no ending that tells what to draw: name a file that ends in .svg, .html or .png")
    if path.suffix == ".png":
        data = _pixels(figures[0].svg())
    else:
        data = (html_page(title, figures) if path.suffix == ".html" else figures[0].svg()).encode()
    create_exactly(path, [data])
    if not plan.is_quiet:
        print_message(f"Written: {path}")
    return 0
