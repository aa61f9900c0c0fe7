"""`clew usage --plot`: draw it, in the terminal or into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.cli.cost.usage_request import UsageOptions, terminal_width
from clew.cli.output import print_message
from clew.facts.prices import Prices
from clew.report.collect_buckets import Gathered
from clew.report.context_history import ContextPoint
from clew.report.plots import activity_lines, activity_picture, context_lines, context_picture, cost_lines, cost_picture
from clew.report.svg import page, png
from clew.report.timezone import Zone
from clew.report.usage_table import UsageTable, chosen_of, table
from clew.view.sanitize import columns
from clew.wire.session_writer import create_exactly

ENDINGS = (".svg", ".html", ".png")


def draw(plan: UsageOptions, gathered: Gathered, found: UsageTable, prices: Prices) -> int:
    """The cost by what was asked, stacked by model, and the activity by weekday and hour."""
    if not found.rows:
        print_message("No usage here to draw.")
        return 1
    zone = Zone(plan.wanted.zone)
    chosen = chosen_of(gathered.cells, plan.wanted)
    if plan.plot in (None, "-"):
        for line in [*cost_lines(found, terminal_width() or 80, columns), "", *activity_lines(chosen, zone)]:
            print(line)
        return 0
    stacked = table(gathered.cells, plan.wanted._replace(by_model=True), prices)
    return write(plan, f"Usage by {found.by}", [cost_picture(stacked), activity_picture(chosen, zone)])


def draw_context(plan: UsageOptions, points: Sequence[ContextPoint]) -> int:
    if plan.plot in (None, "-"):
        for line in context_lines(points, terminal_width() or 80):
            print(line)
        return 0
    return write(plan, "Context by turn", [context_picture(points)])


def _pixels(picture: str) -> bytes:
    try:
        data = png(picture)
    except ModuleNotFoundError:
        raise ValueError(
            "a .png needs a library that is not there: pip install 'clew[plot]', or draw an .svg"
        ) from None
    if data is None:
        raise ValueError("a .png needs a font, and this machine has none: draw an .svg, which needs none here")
    return data


def write(plan: UsageOptions, title: str, pictures: Sequence[str]) -> int:
    """A new file; an SVG or PNG holds the first picture, a page all of them."""
    path = Path(plan.plot or "")
    if path.suffix not in ENDINGS:
        raise ValueError(f"{path} has no ending that tells what to draw: name a file that ends in .svg, .html or .png")
    if path.suffix == ".png":
        data = _pixels(pictures[0])
    else:
        data = (page(title, pictures) if path.suffix == ".html" else pictures[0]).encode()
    create_exactly(path, [data])
    if not plan.is_quiet:
        print_message(f"Written: {path}")
    return 0
