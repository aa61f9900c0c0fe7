"""Pictures of the pages in all their states. `CLEW_SCREENSHOTS` names the folder that they are written to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, Page, Route

from benchmarks.served import Served, serving
from clew.demo.demo_tree import DemoSummary, write_demo
from tests.web.addresses import page_addresses
from tests.web.chromium import browsing

FOLDER = os.environ.get("CLEW_SCREENSHOTS")
SIZES = {"desk": (1440, 900), "phone": (390, 844), "tablet": (820, 1180), "4k": (3840, 2160)}
# What is pictured: the name, the page, the size, the theme, and the keys to press.
PICTURES: list[tuple[str, str, str, str, tuple[str, ...]]] = [
    ("start", "start", "desk", "light", ()),
    ("start-dark", "start", "desk", "dark", ()),
    ("start-phone", "start", "phone", "light", ()),
    ("list", "list", "desk", "light", ()),
    ("list-dark", "list", "desk", "dark", ()),
    ("list-phone", "list", "phone", "light", ()),
    ("search", "search", "desk", "light", ()),
    ("reader", "reader", "desk", "light", ()),
    ("reader-dark", "reader", "desk", "dark", ()),
    ("reader-phone", "reader", "phone", "light", ()),
    ("reader-tablet", "reader", "tablet", "light", ()),
    ("reader-4k", "reader", "4k", "light", ()),
    ("find", "reader", "desk", "light", ("/", *"cent")),
    ("charts", "charts", "desk", "dark", ()),
    ("compare", "compare", "desk", "light", ()),
    ("files", "files", "desk", "light", ()),
    ("blame", "blame", "desk", "light", ()),
    ("usage", "usage", "desk", "light", ()),
    ("settings", "settings", "desk", "light", ()),
    ("palette", "list", "desk", "light", ("Control+k", *"round")),
    ("help", "reader", "desk", "light", ("?",)),
    ("empty", "nothing", "desk", "light", ()),
    ("error", "error", "desk", "light", ()),
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSummary:
    """Sessions of the last weeks, so that the start page has something to show."""
    return write_demo(tmp_path_factory.mktemp("demo") / "claude", datetime.now(UTC))


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Browser]:
    with browsing() as found:
        yield found


def take(page: Page, name: str, folder: Path) -> list[str]:
    """Take a picture; what is wrong with it."""
    page.wait_for_timeout(150)  # fonts and what a key opened
    data = page.screenshot(path=folder / f"{name}.png")
    found = [f"{name}: the picture is blank"] if len(data) < 9000 else []
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append(f"{name}: the page is wider than its window")
    return found


def signed_in(browser: Browser, served: Served, **options: Any) -> Page:
    page = browser.new_context(**options).new_page()
    page.goto(served.entrance)
    served.entrance = served.next_entrance()
    return page


def take_loading(page: Page, address: str, folder: Path) -> list[str]:
    """Take a picture of a large session that is still being read: the page ends where its turns would follow."""

    def cut(route: Route) -> None:
        answer = route.fetch()
        start, _, rest = answer.text().partition('<div id="loading"')
        skeleton = rest.partition("</div>")[0]
        line = '<p class="progress quiet">Reading 60 MB … 40 %</p>'
        route.fulfill(response=answer, body=f'{start}<div id="loading"{skeleton}</div>{line}')

    page.route("**/session/*", cut)
    page.goto(address)
    page.unroute("**/session/*")
    return take(page, "loading", folder)


@pytest.mark.skipif(not FOLDER, reason="set CLEW_SCREENSHOTS to a folder")
def test_pictures_of_all_pages_and_states(
    browser: Browser, served: Served, client: httpx.Client, demo: DemoSummary
) -> None:
    folder = Path(FOLDER or "")
    folder.mkdir(parents=True, exist_ok=True)
    addresses = page_addresses(demo, client)
    found: list[str] = []
    page = signed_in(browser, served)
    for name, address, size, theme, keys in PICTURES:
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        page.goto(served.base + addresses[address])
        for key in keys:
            page.keyboard.press(key)
        found += take(page, name, folder)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(served.base + addresses["reader"])
    page.locator(".diff").first.scroll_into_view_if_needed()
    found += take(page, "diff", folder)
    found += take_loading(page, served.base + addresses["reader"], folder)
    stranger = browser.new_context().new_page()
    stranger.goto(served.base + addresses["reader"])
    found += take(stranger, "refused", folder)
    assert not found, "\n".join(found)


@pytest.mark.skipif(not FOLDER, reason="set CLEW_SCREENSHOTS to a folder")
def test_pictures_of_a_server_that_ended_and_of_an_empty_folder(browser: Browser, tmp_path: Path) -> None:
    folder = Path(FOLDER or tempfile.mkdtemp())
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    found: list[str] = []
    with serving(tmp_path / "claude", tmp_path / "cache") as empty:
        page = signed_in(browser, empty)
        for name, path in (("empty-start", "/"), ("empty-list", "/sessions"), ("empty-files", "/files")):
            page.goto(empty.base + path)
            found += take(page, name, folder)
    page.locator("#banner").wait_for(state="visible")
    found += take(page, "offline", folder)
    assert not found, "\n".join(found)
