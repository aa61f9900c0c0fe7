"""Every page is accessible in light, dark and on a phone, fits its window, and reacts to keys and to a dead server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import httpx
import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, expect

from benchmarks.served import Served
from clew.demo.demo_tree import DemoSummary
from tests.web.addresses import page_addresses
from tests.web.chromium import accessible, browsing, visiting

DESK, PHONE, TABLET, LARGE = (1440, 900), (390, 844), (820, 1180), (3840, 2160)
VIEWS: tuple[tuple[Literal["light", "dark"], tuple[int, int], bool | None], ...] = (
    ("light", DESK, None),
    ("dark", DESK, True),
    ("light", PHONE, False),  # the colours are those of the first
)
IS_WIDER = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Browser]:
    with browsing() as found:
        yield found


def test_every_page_is_accessible_and_fits(
    browser: Browser, served: Served, client: httpx.Client, demo: DemoSummary
) -> None:
    found: list[str] = []
    with visiting(browser, served) as (page, heard):
        for name, path in page_addresses(demo, client).items():
            page.goto(served.base + path)
            page.evaluate("document.querySelectorAll('details:not(.menu)').forEach(each => { each.open = true })")
            for scheme, (width, height), colours in VIEWS:
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": width, "height": height})
                found += [f"{name} {scheme} {width}: {line}" for line in accessible(page, colours=colours)]
            for width, height in (PHONE, TABLET, LARGE):
                page.set_viewport_size({"width": width, "height": height})
                if page.evaluate(IS_WIDER):
                    found.append(f"{name}: wider than a window of {width}")
        heard.errors = [error for error in heard.errors if "404" not in error]
    assert not found, "\n".join(found)


def test_settings_are_saved_as_they_are_changed(browser: Browser, served: Served) -> None:
    with visiting(browser, served, color_scheme="light") as (page, _):
        page.goto(f"{served.base}/settings")
        page.get_by_role("radio", name="Dark").check()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        expect(page.locator(".toast")).to_have_text("Saved.")
        page.get_by_role("radio", name="Dark").press("ArrowRight")  # around to the first choice
        expect(page.get_by_label("As the system")).to_be_checked()
        with page.expect_response("**/settings"):
            page.get_by_label("Time zone").select_option("Asia/Tokyo")
        page.reload()
        assert page.locator("html").get_attribute("data-theme") is None
        expect(page.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
        with page.expect_response("**/settings"):
            page.get_by_label("Time zone").select_option("system")


def test_settings_are_saved_without_scripts(browser: Browser, served: Served) -> None:
    with visiting(browser, served, java_script_enabled=False) as (page, _):
        for name in ("Compact", "Comfortable"):
            page.goto(f"{served.base}/settings")
            page.get_by_label(name).check()
            page.get_by_role("button", name="Save").click()
            expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
            expect(page.locator("html")).to_have_attribute("data-density", name.lower())


def test_signing_in_from_a_refused_page_returns_to_it(browser: Browser, served: Served, demo: DemoSummary) -> None:
    context = browser.new_context()
    page = context.new_page()
    wanted = f"{served.base}/session/{demo.sessions['rounding']}?page=1"
    page.goto(wanted)
    assert accessible(page) == []
    page.get_by_label("Sign-in address").fill(served.entrance)
    page.get_by_role("button", name="Sign in").click()
    served.entrance = served.next_entrance()
    expect(page).to_have_url(wanted)
    expect(page.locator("#turn-1")).to_be_visible()
    context.close()
