"""Charts: to scale, on true axes, with labels that never overlap or leave the frame, in light and in dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.report.charts.canvas import SIZE, TITLE_SIZE, Canvas, asset, render_png, text_width
from clew.report.charts.columns import NARROW, Column, area_chart, column_chart, number_labels
from clew.report.charts.figure import Figure, FigureRow, html_page
from clew.report.charts.name_bars import MOST
from clew.report.charts.scale import MONEY, REPLIES, TOKENS, Unit, axis_values, digits
from clew.report.context_history import KINDS, ContextPoint
from clew.report.plots import (
    Amounts,
    activity_figure,
    context_figure,
    name_figure,
    replies_by_hour,
    short_paths,
    time_figure,
    turns_figure,
    year_figure,
)
from clew.report.terminal_plots import activity_lines, context_lines, cost_lines
from clew.report.timezone import Zone
from clew.report.usage_bucket import UsageBucket
from clew.report.usage_row import UsageRow
from clew.report.usage_table import UsageTable
from clew.system.design_tokens import DARK, DATA, LIGHT
from clew.system.terminal_style import TerminalStyle
from tests.report.build import NOON_SECONDS, bucket

SVG = "{http://www.w3.org/2000/svg}"


def shapes(svg: str, kind: str, name: str = "") -> list[ElementTree.Element]:
    found = ElementTree.fromstring(svg).iter(SVG + kind)
    return [each for each in found if not name or each.attrib.get("class", "").startswith(name)]


def titles(svg: str) -> list[str]:
    return [each.text or "" for each in shapes(svg, "title")]


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in shapes(svg, "text")]


def bare(figure: Figure, width: int = 960) -> str:
    return figure.draw(Canvas(figure.title, width, has_heading=True))


def boxes(svg: str) -> list[tuple[float, float, float, float, str]]:
    """The place of each text: left, top, right, bottom."""
    found = []
    for each in shapes(svg, "text"):
        is_heading = each.attrib["class"] == "heading"
        size = TITLE_SIZE if is_heading else SIZE
        wide = text_width(each.text or "", size) * (1.1 if is_heading else 1)
        x, y = float(each.attrib["x"]), float(each.attrib["y"])
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[each.attrib.get("text-anchor", "start")]
        found.append((left, y - size * 0.75, left + wide, y + size * 0.22, each.text or ""))
    return found


def check_layout(svg: str) -> None:
    """No text overlaps another one, and nothing leaves the frame."""
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    found = boxes(svg)
    for left, top, right, bottom, text in found:
        assert left >= -0.6 and top >= -0.6 and right <= width + 0.6 and bottom <= height + 0.6, (
            text,
            left,
            right,
            width,
        )
    for one, other in combinations(found, 2):
        is_apart = one[2] <= other[0] + 0.1 or other[2] <= one[0] + 0.1 or one[3] <= other[1] or other[3] <= one[1]
        assert is_apart, (one, other)
    for each in root.iter(SVG + "rect"):
        x, y, wide, tall = (float(each.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= -0.6 and y >= -0.6 and x + wide <= width + 0.6 and y + tall <= height + 0.6


def check(figure: Figure) -> None:
    for width in (figure.width, NARROW):
        check_layout(bare(figure, width))


# -- scales


@given(st.floats(1e-4, 1e12), st.sampled_from([MONEY, TOKENS, REPLIES]))
def test_lines_of_an_axis_are_1_2_or_5_apart_and_their_labels_are_exact(top: float, unit: Unit) -> None:
    values, step = axis_values(top, unit)
    assert 2 <= len(values) <= 6 and values[-1] >= top * (1 - 1e-6)
    assert f"{step:e}"[0] in "125" and float(f"{step:e}".split("e")[0]) == pytest.approx(int(f"{step:e}"[0]))
    factors = {"k": 1e3, "M": 1e6, "G": 1e9}
    for value in values:
        text = unit.tick(value, step).replace("$", "").replace(",", "")
        read = float(text.rstrip("kMG")) * factors.get(text[-1], 1)
        assert read == pytest.approx(value, abs=step * 1e-6)


def test_money_has_as_many_digits_as_the_step_needs() -> None:
    values, step = axis_values(0.06, MONEY)
    assert [MONEY.tick(value, step) for value in values] == ["$0.00", "$0.02", "$0.04", "$0.06"]
    values, step = axis_values(0.02, MONEY)
    assert [MONEY.tick(value, step) for value in values] == ["$0.000", "$0.005", "$0.010", "$0.015", "$0.020"]
    assert [digits(step) for step in (100, 1, 0.5, 0.02, 0.005)] == [0, 0, 1, 2, 3]


# -- time


def dated(*names: str) -> list[Amounts]:
    return [Amounts(name, {"opus": 1.0}) for name in names]


def test_days_without_use_have_their_place() -> None:
    """Two days apart is twice as far as one day apart."""
    svg = bare(time_figure("Cost", "day", dated("2026-09-17", "2026-09-18", "2026-09-20", "2026-09-24"), MONEY))
    places = [float(each.attrib["x"]) for each in shapes(svg, "rect", "s1") if each.attrib["height"] != "10.0"]
    first, second, third = (right - left for left, right in pairwise(places))
    assert second == pytest.approx(2 * first, abs=0.3) and third == pytest.approx(4 * first, abs=0.3)
    assert "Day, 17 Sep – 24 Sep 2026" in texts(svg)


@pytest.mark.parametrize(
    ("by", "names", "days"),
    [
        ("hour", ("2026-09-17 03:00", "2026-09-17 09:00"), "Hour, 17 Sep 2026"),
        ("week", ("2026-09-14", "2026-11-16"), "Week, 14 Sep – 16 Nov 2026"),
        ("month", ("2025-12", "2026-03"), "Month, Dec 2025 – Mar 2026"),
        ("hour", ("2026-01-01 00:00", "2026-11-16 09:00"), "Day, 1 Jan – 16 Nov 2026"),
        ("day", ("2020-01-01", "2026-11-16"), "Week, 30 Dec 2019 – 16 Nov 2026"),
        ("day", ("1970-01-01", "9999-12-31"), "100 years, 1900 – 9900"),
    ],
)
def test_a_unit_that_has_no_room_becomes_a_larger_one_and_the_axis_names_it(
    by: str, names: tuple[str, str], days: str
) -> None:
    figure = time_figure("Cost", by, dated(*names), MONEY)
    assert days in texts(bare(figure)), texts(bare(figure))
    check(figure)


def test_usage_without_a_time_is_named() -> None:
    assert any(
        "$1.00 without a time" in text
        for text in texts(bare(time_figure("Cost", "day", dated("2026-09-17", "(no time)"), MONEY)))
    )


def test_an_axis_reaches_the_ends_that_were_asked_for() -> None:
    ends = (datetime(2026, 9, 1), datetime(2026, 9, 30))
    figure = time_figure("Cost", "day", dated("2026-09-17"), MONEY, ends=ends)
    assert "Day, 1 Sep – 30 Sep 2026" in texts(bare(figure))
    assert "Day, 1 Sep – 30 Sep 2026" in texts(bare(time_figure("Cost", "day", [], MONEY, ends=ends)))


def test_a_column_leads_to_the_time_it_counts() -> None:
    figure = time_figure("Cost", "day", dated("2026-09-17"), MONEY, link=lambda a, b: f"/x?{a:%F}&{b:%F}")
    (link,) = shapes(bare(figure), "a")
    assert link.attrib["href"] == "/x?2026-09-17&2026-09-18" and link.attrib["tabindex"] == "0"
    assert link.attrib["aria-label"] == titles(bare(figure))[0] == "Thu 17 Sep 2026: $1.00 (opus $1.00)"


names = st.text(max_size=60)
amounts = st.dictionaries(names, st.floats(0, 1e7), max_size=12)


@given(
    st.lists(st.tuples(st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)), amounts), min_size=1, max_size=12),
    st.sampled_from([("hour", "%Y-%m-%d %H:00"), ("day", "%Y-%m-%d"), ("month", "%Y-%m")]),
)
def test_labels_over_time_never_overlap_or_leave_the_frame(
    rows: list[tuple[datetime, dict[str, float]]], form: tuple[str, str]
) -> None:
    check(time_figure("Cost", form[0], [Amounts(time.strftime(form[1]), parts) for time, parts in rows], MONEY))


@given(st.datetimes(datetime(2020, 1, 1), datetime(2027, 1, 1)), st.integers(0, 500))
def test_labels_of_days_in_a_row_never_overlap(start: datetime, days: int) -> None:
    rows = [Amounts(f"{start + timedelta(days=day):%Y-%m-%d}", {"m": day}) for day in {0, days}]
    check(time_figure("Cost", "day", rows, TOKENS))


# -- names


@given(st.lists(st.tuples(names, amounts), max_size=40))
def test_bars_of_names_never_overlap_or_leave_the_frame(rows: list[tuple[str, dict[str, float]]]) -> None:
    check(name_figure("Cost", "Name", [Amounts(name, parts) for name, parts in rows], TOKENS))


def test_many_names_are_the_largest_and_other() -> None:
    figure = name_figure("Cost", "Session", [Amounts(f"s{n}", {"m": 1.0 + n}) for n in range(236)], MONEY)
    labels = texts(bare(figure))
    assert "s235" in labels and f"other ({236 - MOST})" in labels and "s1" not in labels
    assert len(figure.rows) == 236  # the table has them all


def test_projects_have_the_names_of_lists() -> None:
    paths = {"a": "/home/ada/bakery", "b": "C:\\Users\\ada\\drip", "c": "/srv/one/site", "d": "/srv/two/site", "e": ""}
    assert short_paths(paths) == {"a": "bakery", "b": "drip", "c": "one/site", "d": "two/site", "e": ""}


def test_series_without_a_colour_are_one() -> None:
    figure = name_figure("Cost", "Name", [Amounts("x", {f"m{n}": 100.0 - n for n in range(12)})], MONEY)
    assert figure.head[-2:] == ("other", "Total") and len(figure.head) == 10
    assert len({each.attrib["class"] for each in shapes(bare(figure), "rect", "s")}) == 8


def test_a_legend_names_only_what_is_drawn() -> None:
    columns = [Column("a", [1.0, 0.0]), Column("b", [2.0, 0.0])]
    svg = column_chart(
        Canvas("t", 960, has_heading=False), columns, ["used", "unused"], TOKENS, "x", number_labels("ab")
    )
    assert "used" in texts(svg) and "unused" not in texts(svg)


def test_columns_stand_on_each_other_and_are_to_scale() -> None:
    columns = [Column("a", [1, 3]), Column("b", [2, 0])]
    svg = column_chart(Canvas("t", 960, has_heading=False), columns, ["x", "y"], TOKENS, "n", number_labels("12"))
    bars = [each.attrib for each in shapes(svg, "rect", "s") if each.attrib["height"] != "10.0"]
    heights = [float(each["height"]) for each in bars]
    assert titles(svg) == ["a: 4 (x 1, y 3)", "b: 2 (x 2)"]
    assert heights[1] == pytest.approx(3 * heights[0], abs=0.3)
    assert float(bars[0]["y"]) == pytest.approx(float(bars[1]["y"]) + heights[1], abs=0.3)


def test_names_cannot_break_a_chart() -> None:
    svg = bare(name_figure("<&>", "x", [Amounts('"<script>', {"</svg>": 1.0}, '/x?"><script>')], MONEY))
    assert '"<script>: $1.00 (</svg> $1.00)' in titles(svg)
    assert not shapes(svg, "script")


# -- one session


def points(count: int, compacted: Sequence[int] = (), tokens: int = 100_000) -> list[ContextPoint]:
    parts = dict.fromkeys(KINDS, 0) | {"system": tokens // 2, "prompts": tokens // 2}
    return [ContextPoint(n, "", -1, tokens, parts, n in compacted) for n in range(1, count + 1)]


def test_compactions_are_marks_with_their_word_once() -> None:
    svg = bare(context_figure(points(300, range(5, 300, 5)), 200_000))
    assert texts(svg).count("compacted") == 1 and len(shapes(svg, "path", "mark")) == 60
    assert "compacted" not in texts(bare(context_figure(points(9), 200_000)))


def test_the_limit_is_a_line_at_its_value() -> None:
    svg = bare(context_figure(points(9), 200_000))
    (line,) = shapes(svg, "line", "limit")
    grid = {each.text: each for each in shapes(svg, "text")}
    assert float(line.attrib["y1"]) == pytest.approx(float(grid["200k"].attrib["y"]) - 4) and "limit 200.0k" in grid
    far = bare(context_figure(points(9, tokens=1000), 200_000))
    assert not shapes(far, "line", "limit") and "limit 200.0k (above this chart)" in texts(far)


@given(st.integers(1, 3000), st.integers(1, 10**6), st.sampled_from([0, 200_000, 1_000_000]))
def test_charts_of_a_session_keep_their_labels_apart(count: int, tokens: int, window: int) -> None:
    check(context_figure(points(count, (1, count), tokens), window, lambda number: f"/turn/{number}"))


@pytest.mark.parametrize("count", [1, 2, 40, 3000])
def test_turns_lead_to_themselves(count: int) -> None:
    rows = [UsageRow(f"{n:>4}  Do it") for n in range(1, count + 1)] + [UsageRow("(other branches)")]
    for row in rows:
        row.cost = 10**12
        row.models = {"opus": row}
    figure = turns_figure(rows, lambda number: f"/turn/{number}")
    check(figure)
    links = [each.attrib["href"] for each in shapes(bare(figure), "a")]
    assert links[0] == "/turn/1" and len(figure.rows) == count + 1
    assert len(links) == count if count < 3000 else len(links) < 500


# -- heat maps


def test_a_year_has_every_day_up_to_the_last() -> None:
    last = date(2026, 11, 16)
    figure = year_figure({last: 2.0, date(2026, 3, 1): 1.0}, last, MONEY, lambda day: f"/sessions?since={day}")
    check(figure)
    for width in (960, NARROW):
        hints = titles(bare(figure, width))
        assert len(hints) >= 365 and hints[-1] == "Mon 2026-11-16: $2.00"
        assert hints[0].startswith("Mon 2025-11-1") and len(shapes(bare(figure, width), "a")) == 2


@given(st.dates(date(1971, 1, 1), date(2999, 1, 1)), st.lists(st.floats(0, 1e6), max_size=30))
def test_labels_of_a_year_never_overlap(last: date, values: list[float]) -> None:
    check(year_figure({last - timedelta(days=n): value for n, value in enumerate(values)}, last, TOKENS))


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
    figure = activity_figure(buckets, Zone("UTC"))
    assert "Mon 12:00: 2 replies" in titles(bare(figure))
    check(figure)


# -- files and pages


def example() -> Figure:
    return time_figure("Cost", "day", dated("2026-09-17", "2026-09-24"), MONEY, link=lambda a, b: "/x")


def test_a_file_has_the_colours_of_both_themes_and_asks_for_nothing() -> None:
    svg = example().svg()
    style = shapes(svg, "style")[0].text or ""
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    assert f".chart text {{ font-size: 12px; fill: {LIGHT['text']};" in light and f"fill: {DARK['text']};" in dark
    assert "var(" not in svg and "url(" not in svg and f".s1 {{ fill: {DATA[0]}; }}" in light
    assert len(shapes(svg, "rect", "ground")) == 1


def test_a_chart_in_a_page_has_no_colour_of_its_own_and_its_title_is_the_heading() -> None:
    html = example().html()
    assert not re.search(r"#[0-9a-f]{3,6}\b|style=|<style", html)
    assert html.count("<svg") == 2 and ">Cost<" not in html
    assert html.count('<table><thead><tr><th scope="col">Day</th>') == 1


def test_the_stylesheet_uses_tokens_only() -> None:
    assert not re.search(r"#[0-9a-f]{3,8}\b|rgb\(", asset("chart.css"))


def test_a_page_holds_all_charts_and_their_numbers() -> None:
    page = html_page("T", [example(), example()])
    assert page.count("<svg") == 4 and page.count("<table>") == 2 and page.count("2026") > 4
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_png_is_one_in_the_light_theme() -> None:
    data = render_png(example().svg())
    assert data is None or (data.startswith(b"\x89PNG") and len(data) > 2000)  # a machine without fonts makes none


def test_every_shape_has_its_meaning_once_for_the_keyboard() -> None:
    figure = time_figure("Cost", "day", dated("2026-09-17", "2026-09-19", "2026-09-24"), MONEY, link=lambda a, b: "/x")
    tabs = [each.attrib["tabindex"] for each in shapes(bare(figure), "a")]
    assert tabs == ["0", "-1", "-1"] and all(each.attrib["aria-label"] for each in shapes(bare(figure), "a"))


@pytest.mark.parametrize("count", [0, 1, 2, 400])
def test_any_number_of_places_can_be_drawn(count: int) -> None:
    columns = [Column(str(n), [0.5]) for n in range(count)]
    labels = number_labels([str(n) for n in range(count)])
    check_layout(column_chart(Canvas("t", 960, has_heading=False), columns, ["x"], TOKENS, "n", labels))
    if count:
        check_layout(area_chart(Canvas("t", NARROW, has_heading=False), columns, ["x"], TOKENS, "n", labels))


def test_rows_of_a_table_may_lead_somewhere() -> None:
    figure = Figure("t", lambda canvas: canvas.svg(), ("a", "b"), [FigureRow("<n>", ("1",), '/x"')])
    assert '<a href="/x&quot;">&lt;n&gt;</a></th><td>1</td>' in figure.html()


# -- in the terminal


def test_days_without_use_have_a_line_and_long_gaps_one() -> None:
    rows = [UsageRow(name) for name in ("2026-09-17", "2026-09-20", "2026-09-30", "(no time)")]
    for row in rows:
        row.cost = 10**12
    lines = cost_lines(UsageTable("day", rows, UsageRow("Total")), 80)
    assert [line.split("  ")[0] for line in lines] == [
        *("2026-09-17", "2026-09-18", "2026-09-19", "2026-09-20"),
        *("· 9 empty days ·", "2026-09-30", "(no time)"),
    ]


def test_the_context_of_many_turns_is_at_most_a_screen() -> None:
    lines = context_lines(points(656, (600,)), 80, 22)
    assert len(lines) <= 22 and max(map(len, lines)) <= 80 and sum("compacted" in line for line in lines) == 1
    assert lines[0].strip().startswith("1–30")


def test_a_plot_on_a_terminal_has_colours() -> None:
    rows = [UsageRow("2026-09-17"), UsageRow("2026-09-30")]
    rows[0].cost = 10**12
    style = TerminalStyle(1 << 24, "dark")
    lines = cost_lines(UsageTable("day", rows, UsageRow("Total")), 80, style=style)
    assert "\x1b[" in lines[0] and "empty days" in lines[1] and lines[1].startswith("\x1b[")
    assert all("\x1b[" in line for line in context_lines(points(3), 80, style=style))
    assert any("\x1b[" in line for line in activity_lines([bucket(NOON_SECONDS)], Zone("UTC"), style))
