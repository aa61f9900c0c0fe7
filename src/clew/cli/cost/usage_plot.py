"""`clew usage --plot`: draw it, in the terminal or into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.cli.cost.usage_request import UsageOptions, terminal_width
from clew.cli.output import print_message
from clew.errors import ClewError
from clew.facts.prices import Prices
from clew.report.collect_buckets import CollectedBuckets
from clew.report.context_history import ContextPoint
from clew.report.plots import activity_chart, activity_lines, context_chart, context_lines, cost_chart, cost_lines
from clew.report.svg import html_page, render_png
from clew.report.timezone import Zone
from clew.report.usage_table import UsageTable, build_table, select_buckets
from clew.system.extras import install_hint
from clew.view.sanitize import columns
from clew.wire.session_writer import create_exactly

ENDINGS = (".svg", ".html", ".png")


def draw(plan: UsageOptions, collected: CollectedBuckets, table: UsageTable, prices: Prices) -> int:
    """Return the cost by what was asked, stacked by model, and the activity by weekday and hour."""
    if not table.rows:
        print_message("No usage here to draw.")
        return 1
    zone = Zone(plan.query.zone)
    chosen = select_buckets(collected.buckets, plan.query)
    if plan.plot in (None, "-"):
        for line in [*cost_lines(table, terminal_width() or 80, columns), "", *activity_lines(chosen, zone)]:
            print(line)
        return 0
    stacked = build_table(collected.buckets, plan.query._replace(by_model=True), prices)
    return write(plan, f"Usage by {table.by}", [cost_chart(stacked), activity_chart(chosen, zone)])


def draw_context(plan: UsageOptions, points: Sequence[ContextPoint]) -> int:
    if plan.plot in (None, "-"):
        for line in context_lines(points, terminal_width() or 80):
            print(line)
        return 0
    return write(plan, "Context by turn", [context_chart(points)])


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


def write(plan: UsageOptions, title: str, pictures: Sequence[str]) -> int:
    """Return a new file; an SVG or PNG holds the first picture, a page all of them."""
    path = Path(plan.plot or "")
    if path.suffix not in ENDINGS:
        raise ValueError(f"{path} has no ending that tells what to draw: name a file that ends in .svg, .html or .png")
    if path.suffix == ".png":
        data = _pixels(pictures[0])
    else:
        data = (html_page(title, pictures) if path.suffix == ".html" else pictures[0]).encode()
    create_exactly(path, [data])
    if not plan.is_quiet:
        print_message(f"Written: {path}")
    return 0
