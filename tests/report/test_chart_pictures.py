"""The charts of the docs. `CLEW_UPDATE_PICTURES=1` writes them again."""

from __future__ import annotations

import os
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

import clew
from clew.demo.demo_tree import write_demo
from clew.demo.talk import Talk, bash, talk
from clew.facts.prices import load
from clew.report.collect_buckets import collect_buckets
from clew.report.context_history import context_points, context_window
from clew.report.plots import activity_figure, context_figure, cost_figure
from clew.report.terminal_plots import context_lines, cost_lines
from clew.report.text_table import table_lines
from clew.report.timezone import Zone
from clew.report.usage_bucket import UsageBucket
from clew.report.usage_table import UsageQuery, build_table
from clew.system.terminal_style import TerminalStyle
from tests.cli.conftest import NOW
from tests.report.build import session

PRICES = load()
DOCS = Path(__file__).parents[2] / "docs"
UTC = UsageQuery(zone="UTC")


@pytest.fixture(scope="module")
def buckets(tmp_path_factory: pytest.TempPathFactory) -> list[UsageBucket]:
    root = tmp_path_factory.mktemp("demo") / "claude"
    write_demo(root, NOW)
    return list(collect_buckets(str(root), None, per_reply=True).buckets)


def check_picture(name: str, svg: str) -> None:
    """The picture in the docs is this one."""
    path = DOCS / name
    if os.environ.get("CLEW_UPDATE_PICTURES"):
        path.write_text(svg, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == svg, f"docs/{name} is out of date: CLEW_UPDATE_PICTURES=1"


def test_the_picture_of_a_table(buckets: list[UsageBucket]) -> None:
    console = Console(record=True, width=100, file=StringIO(), force_terminal=True)
    found = build_table(buckets, UTC._replace(by="week", by_model=True), PRICES)
    for text in table_lines(found, "WEEK", PRICES, 100, style=TerminalStyle(1 << 24, "dark")):
        console.print(Text.from_ansi(text))
    svg = console.export_svg(title="clew usage weekly --breakdown", unique_id="clew")
    check_picture("usage.svg", re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL))


def test_the_picture_of_the_cost(buckets: list[UsageBucket]) -> None:
    found = build_table(buckets, UTC._replace(by_model=True), PRICES)
    assert len(cost_lines(found, 80)) >= len(found.rows) and max(map(len, cost_lines(found, 80))) <= 80
    check_picture("usage-cost.svg", cost_figure(found, {}).svg())


def test_the_picture_of_the_activity(buckets: list[UsageBucket]) -> None:
    check_picture("usage-activity.svg", activity_figure(buckets, Zone("UTC")).svg())


def grown() -> Talk:
    """A session that reads a lot, until it is compacted, and then continues."""
    told = talk(session_id=session(1))
    for number in range(1, 33):
        told = told.user(f"Next, part {number}. " * 6).reply(
            "I read it first.", thinking="Let me see. " * 60, call=bash("cat")
        )
        told = told.result("A line of what is in the file.\n" * (60 + 40 * (number % 5))).reply("It is done. " * 40)
        told = told.compact("We are half way.") if number == 20 else told
    return told


def test_the_picture_of_a_window(tmp_path: Path) -> None:
    found = clew.read(grown().write(tmp_path))
    points = context_points(found)
    assert any(point.is_compacted for point in points)
    assert sum("compacted" in line for line in context_lines(points, 80)) == sum(p.is_compacted for p in points)
    check_picture("usage-context.svg", context_figure(points, context_window(found, points)).svg())
