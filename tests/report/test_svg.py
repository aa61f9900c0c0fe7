"""Pictures: well-formed, to scale, and telling. `CLEW_UPDATE_PICTURES=1` writes those of the docs anew."""

from __future__ import annotations

import os
import re
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from rich.text import Text

import clew
from clew.demo.demo_tree import write_demo
from clew.demo.talk import Talk, bash, talk
from clew.facts.prices import load
from clew.report.collect_buckets import collect_buckets
from clew.report.context_history import context_points
from clew.report.plots import (
    activity_chart,
    activity_lines,
    context_chart,
    context_lines,
    cost_chart,
    cost_lines,
    replies_by_hour,
)
from clew.report.svg import Series, area_chart, bar_chart, heat_map, html_page, render_png
from clew.report.text_table import table_lines
from clew.report.timezone import Zone
from clew.report.usage_bucket import UsageBucket
from clew.report.usage_table import UsageQuery, build_table
from clew.system.terminal_style import TerminalStyle
from tests.cli.conftest import NOW
from tests.report.build import NOON_SECONDS, bucket, session

PRICES = load()
DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
UTC = UsageQuery(zone="UTC")


def shapes(svg: str, kind: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(SVG + kind))


def titles(svg: str) -> list[str]:
    return [each.text or "" for each in shapes(svg, "title")]


def test_bars_stand_on_each_other_and_are_to_scale() -> None:
    svg = bar_chart("Cost", ["a", "b"], [Series("x", [1, 2]), Series("y", [3, 0])], str)
    boxes = [rect for rect in shapes(svg, "rect") if len(rect)]
    heights = [float(rect.attrib["height"]) for rect in boxes]
    assert titles(svg) == ["a · x: 1", "a · y: 3", "b · x: 2"]
    assert heights[1] == pytest.approx(3 * heights[0], abs=0.2)
    assert float(boxes[0].attrib["y"]) == pytest.approx(float(boxes[1].attrib["y"]) + heights[1], abs=0.2)


def test_names_cannot_break_a_picture() -> None:
    svg = bar_chart("<&>", ['"<script>'], [Series("</svg>", [1.0])], str)
    assert '"<script> · </svg>: 1.0' in titles(svg)
    assert not shapes(svg, "script")


@pytest.mark.parametrize("count", [0, 1, 2, 400])
def test_any_number_of_places_can_be_drawn(count: int) -> None:
    names = [str(n) for n in range(count)]
    for svg in (
        bar_chart("t", names, [Series("x", [0.5] * count)], str),
        area_chart("t", names, [Series("x", [1.0] * count)], str, [(0, "mark")] if count else []),
        heat_map("t", names, names, [[1.0] * count] * count, str) if count < 10 else "<svg/>",
    ):
        ElementTree.fromstring(svg)


def test_areas_mark_what_happened() -> None:
    svg = area_chart("Context", ["1", "2"], [Series("x", [1.0, 2.0])], str, [(1, "compacted")])
    assert "compacted" in titles(svg)


def test_activity_is_by_weekday_and_hour() -> None:
    buckets: list[UsageBucket] = [
        bucket(NOON_SECONDS),
        bucket(NOON_SECONDS),
        bucket(NOON_SECONDS + 86400 * 6 + 3600),
        bucket(-1),
    ]
    found = replies_by_hour(buckets, Zone("UTC"))
    assert (found[0][12], found[6][13], sum(map(sum, found))) == (2, 1, 3)
    lines = activity_lines(buckets, Zone("UTC"))
    assert len(lines) == 8 and lines[1].startswith("Mon") and "▓" in lines[1]
    assert "Mon 12: 2 replies" in titles(activity_chart(buckets, Zone("UTC")))


def test_a_page_holds_all_pictures() -> None:
    svg = bar_chart("t", ["a"], [Series("x", [1])], str)
    assert html_page("T", [svg, svg]).count("<svg") == 2


def test_a_png_is_one() -> None:
    data = render_png(bar_chart("t", ["a"], [Series("x", [1])], str))
    assert data is None or (data.startswith(b"\x89PNG") and len(data) > 2000)  # a machine without fonts makes none


# -- those of the docs


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo") / "claude"
    write_demo(root, NOW)
    return root


@pytest.fixture(scope="module")
def buckets(demo: Path) -> list[UsageBucket]:
    return collect_buckets(str(demo), None, per_reply=True).buckets


def kept(name: str, svg: str) -> None:
    """The picture in the docs says what this one says."""
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
    kept("usage.svg", re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL))


def test_the_picture_of_the_cost(buckets: list[UsageBucket]) -> None:
    found = build_table(buckets, UTC._replace(by_model=True), PRICES)
    svg = cost_chart(found)
    assert len(cost_lines(found, 80)) == len(found.rows)
    assert max(map(len, cost_lines(found, 80))) <= 80
    kept("usage-cost.svg", svg)


def test_the_picture_of_the_activity(buckets: list[UsageBucket]) -> None:
    kept("usage-activity.svg", activity_chart(buckets, Zone("UTC")))


def grown() -> Talk:
    """A session that reads a lot, until it is compacted, and then goes on."""
    told = talk(session_id=session(1))
    for number in range(1, 33):
        told = told.user(f"Next, part {number}. " * 6).reply(
            "I read it first.", thinking="Let me see. " * 60, call=bash("cat")
        )
        told = told.result("A line of what is in the file.\n" * (60 + 40 * (number % 5))).reply("It is done. " * 40)
        told = told.compact("We are half way.") if number == 20 else told
    return told


def test_the_picture_of_a_window(tmp_path: Path) -> None:
    points = context_points(clew.read(grown().write(tmp_path)))
    assert any(point.is_compacted for point in points)
    assert sum("compacted" in line for line in context_lines(points, 80)) == sum(p.is_compacted for p in points)
    kept("usage-context.svg", context_chart(points))
