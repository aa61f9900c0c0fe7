"""The start page, the usage page and the charts of a session: the numbers of `clew usage`, and ways to what they count."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, Page, expect

from benchmarks.served import Served, serving
from clew.cli import main
from clew.demo.demo_tree import DemoSummary, write_demo
from clew.demo.talk import talk
from clew.facts.prices import load
from clew.report.collect_buckets import collect_buckets
from clew.report.overview import Overview
from clew.report.timezone import Zone
from clew.report.usage_table import UsageQuery, build_table
from clew.web.usage_page import VIEWS, parse_choice
from tests.web.chromium import accessible, browsing, visiting

KEY = "sk-ant-api03-" + "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0Lz" * 2 + "-AAAAAAAA"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSummary:
    """Sessions up to now, one with a secret, and one whose names a spreadsheet would run."""
    found = write_demo(tmp_path_factory.mktemp("demo") / "claude", datetime.now(UTC))
    talk(seed="keys", cwd=f"/home/ada/{KEY}", branch="=cmd()").user(f"use {KEY}").reply("done").write(found.root)
    return found


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Browser]:
    with browsing() as found:
        yield found


def printed(demo: DemoSummary, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main(["usage", *words, "--json", "--quiet", "--claude-dir", str(demo.root)])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def overview(client: httpx.Client, query: str = "") -> str:
    for _ in range(60):
        answer = client.get(f"/overview{query}")
        if answer.status_code == 200:
            return answer.text
    raise AssertionError("the overview is not ready")


# -- numbers


@pytest.mark.parametrize("by", [view for view in VIEWS if view != "block"])
def test_the_numbers_of_the_page_are_those_of_the_command(
    demo: DemoSummary, client: httpx.Client, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    rows = printed(demo, capsys, by, "--breakdown")
    found = [json.loads(line) for line in client.get(f"/usage/export.json?by={by}&days=all").text.splitlines()]
    for each in (*rows, *found):
        each.pop("label", "")
        each["name"] = "" if KEY in each["name"] or each["name"].startswith("folder-") else each["name"]
    assert found == rows
    page = client.get(f"/usage/body?by={by}&days=all").text
    assert f">{rows[-1]['total']:,}</td>" in page and f"${rows[-1]['cost_micros'] / 1e6:,.2f}</td>" in page


def test_blocks_are_those_of_the_command(
    demo: DemoSummary, client: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = printed(demo, capsys, "blocks")
    lines = [json.loads(line) for line in client.get("/usage/export.json?by=block&days=all").text.splitlines()]
    assert [each["cost_micros"] for each in lines[:-1]] == [each["cost_micros"] for each in rows]


def test_filters_are_those_of_the_command(
    demo: DemoSummary, client: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    since = (datetime.now(UTC) - timedelta(days=40)).date().isoformat()
    words = ("project", "--project", "drip", "--model", "opus", "--since", since, "--tz", "UTC")
    folder = printed(demo, capsys, *words)[0]["name"]
    query = f"by=project&project={folder}&model=opus&since={since}&zone=UTC"
    found = [json.loads(line) for line in client.get(f"/usage/export.json?{query}").text.splitlines()]
    assert found[-1]["cost_micros"] == printed(demo, capsys, *words)[-1]["cost_micros"] > 0


def test_periods_have_the_sums_of_their_days(demo: DemoSummary, client: httpx.Client) -> None:
    buckets, prices, zone = collect_buckets(str(demo.root), None, per_reply=True).buckets, load(), Zone("")
    today = datetime.now().astimezone().date()
    table = build_table(buckets, UsageQuery(), prices)
    made = Overview(buckets, prices, zone, today)
    for days in (1, 7, 30, 3650):
        period = made.period("", days)
        rows = [row for row in table.rows if period.since.isoformat() <= row.name < period.until.isoformat()]
        assert (period.row.cost, period.row.total) == (sum(r.cost for r in rows), sum(r.total for r in rows))
    assert sum(cost for _, cost in made.top_projects(today - timedelta(days=3650))) == table.total.cost
    assert f">${made.period('', 30).row.cost / 1e12:,.2f}</a>" in overview(client)
    before = made.period("", 30).before
    assert before.cost == sum(
        row.cost
        for row in table.rows
        if today - timedelta(days=59) <= datetime.fromisoformat(row.name).date() <= today - timedelta(days=30)
    )


def test_a_changed_session_is_counted_at_once(demo: DemoSummary, client: httpx.Client) -> None:
    before = json.loads(client.get("/usage/export.json?by=model&days=all").text.splitlines()[-1])["replies"]
    talk(seed="fresh", cwd="/home/ada/fresh").user("go").reply("done").write(demo.root)
    assert json.loads(client.get("/usage/export.json?by=model&days=all").text.splitlines()[-1])["replies"] > before


def test_a_spreadsheet_runs_nothing(client: httpx.Client) -> None:
    rows = list(csv.reader(io.StringIO(client.get("/usage/export.csv?by=branch&days=all").text)))
    assert "'=cmd()" in [row[0] for row in rows] and rows[0][0] == "name" and rows[0][-1] == "label"


@pytest.mark.parametrize(
    "query",
    ["by=x", "days=0", "since=x&until=2026-99-99", "zone=Nowhere", "project=%00", "by=day&days=7&since=2020-01-01"],
)
def test_any_address_is_answered(client: httpx.Client, query: str) -> None:
    assert client.get(f"/usage?{query}").status_code == 200
    assert client.get(f"/?{query}").status_code == (404 if "project" in query else 200)
    assert parse_choice(dict(part.split("=") for part in query.split("&")), "system").by == "day"


@pytest.mark.req("R235")
def test_secrets_are_masked(client: httpx.Client) -> None:
    for view in VIEWS:
        for path in ("/usage/body", "/usage", "/usage/export.csv"):
            assert KEY not in unescape(client.get(f"{path}?by={view}&days=all").text), view
    start = unescape(overview(client, "?by=project&days=365"))
    assert KEY not in start
    (address,) = re.findall(r"/\?(project=folder-[0-9a-f]{8})", start)[:1]
    assert KEY not in unescape(overview(client, f"?{address}"))


def test_every_number_leads_to_a_page(client: httpx.Client) -> None:
    links = set(re.findall(r'href="(/[^"]*)"', overview(client, "?by=project&days=365")))
    links |= set(re.findall(r'href="(/[^"]*)"', client.get("/usage/body?by=tool&days=all").text))
    assert {"/sessions", "/search", "/usage", "/"} <= {link.partition("?")[0] for link in links}
    for path in {re.sub(r"=[^&]*", "=", unescape(link)): unescape(link) for link in links}.values():
        assert client.get(path, follow_redirects=True).status_code == 200, path


def test_a_project_has_a_page_with_its_own_numbers(
    demo: DemoSummary, client: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = "-home-ada-work-bakery-orders"
    *_, total = printed(demo, capsys, "daily", "--project", folder, "--since", "30d")
    page = overview(client, f"?project={folder}")
    cost = re.findall(r'class="figure"><a[^>]*>([^<]+)<', page)[2]
    assert cost == f"${total['cost_micros'] / 1e6:.2f}"
    assert all(f"project={folder}" in link for link in re.findall(r'href="(/(?:sessions|usage)\?[^"]+)"', page))
    assert "Fix one-cent rounding" in page and "tide-gauge" not in page
    assert "<h1>bakery-orders</h1>" in client.get(f"/?project={folder}").text
    assert client.get("/?project=none").status_code == 404


def test_a_new_user_is_told_what_to_do(tmp_path: Any) -> None:
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    with serving(tmp_path / "claude", tmp_path / "cache") as served, served.client() as client:
        assert "No sessions yet" in overview(client) and "clew demo" in overview(client)
        assert "No usage here" in client.get("/usage/body").text


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00.000Z", "9998-12-30T23:59:59.999Z", "9999-12-31T23:59:59.999Z", "9999-12-31"]
)
def test_a_time_at_either_end_of_the_calendar_has_pages(tmp_path: Path, time: str) -> None:
    told = talk(cwd="/home/ada/x").user("go", timestamp=time).reply("done", timestamp=time)
    told.write(tmp_path / "claude")
    with serving(tmp_path / "claude", tmp_path / "cache") as served, served.client() as client:
        assert overview(client)
        for by in ("hour", "day", "week", "month", "block"):
            for days in ("30", "all"):
                answer = client.get(f"/usage/body?by={by}&days={days}")
                assert answer.status_code == 200 and ("Total" in answer.text or "No usage here" in answer.text)


# -- in a browser


def check_axe(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[aria-busy]")).to_have_count(0)
    expect(page.locator(".plot svg:visible").first).to_be_visible()
    assert accessible(page) == [], address
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_charts_are_accessible_on_a_dark_phone(browser: Browser, served: Served, demo: DemoSummary) -> None:
    """The other sizes and the light theme are in `test_every_page`."""
    with visiting(browser, served, viewport=PHONE, color_scheme="dark") as (page, _):
        for path in ("/", "/usage?by=project&days=all", f"/session/{demo.sessions['rounding']}/charts"):
            check_axe(page, served.base + path)
            labels = page.locator(".plot svg:visible text").first
            assert labels.bounding_box()["height"] >= 9  # type: ignore[index]
            colour = page.locator("svg:visible .quiet").first.evaluate("each => getComputedStyle(each).fill")
            assert colour == "rgb(161, 165, 174)"


def test_columns_by_pointer_and_by_keyboard(browser: Browser, served: Served, demo: DemoSummary) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{demo.sessions['rounding']}/charts")
        chart = page.get_by_role("group", name="Cost by turn")
        chart.locator("a").nth(1).hover()
        tip = page.locator(".chart-tip:visible")
        expect(tip).to_contain_text("Turn 2")
        chart.locator("a").first.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Turn 2: $")
        expect(tip).to_contain_text("Turn 2")
        assert chart.locator("a[tabindex='0']").count() == 1
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("#turn-2"))


def test_a_day_leads_to_its_sessions(browser: Browser, served: Served) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/usage?by=day&days=90")
        page.locator(".plot svg:visible a").last.click()
        expect(page).to_have_url(re.compile(r"/sessions\?since=\d{4}-\d\d-\d\d&until=\d{4}-\d\d-\d\d"))


def test_without_scripts_the_numbers_are_there(browser: Browser, served: Served) -> None:
    with visiting(browser, served, viewport=DESK, java_script_enabled=False) as (page, _):
        page.goto(f"{served.base}/usage?by=model&days=all")
        expect(page.locator("tfoot")).to_contain_text("$")
        page.goto(f"{served.base}/usage?by=day&days=all")
        assert page.locator(".plot svg:visible a title").count() > 5
