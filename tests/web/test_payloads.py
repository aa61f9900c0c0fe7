"""Hostile transcripts in a real browser: nothing of them runs, is asked for, or leads anywhere but to the web."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser

from benchmarks.served import Served, serving
from clew.conversation.load import read
from clew.index.session_index import Index
from tests.view.payloads import PAYLOADS, everywhere
from tests.web.chromium import Heard, browsing, visiting

TRAP = "window.pwned = () => alert('pwned')"
FOUND = """() => {
    const found = [];
    const fine = /^(\\/(?!\\/)|#|https?:\\/\\/|mailto:|data:(,|image\\/(png|jpeg|gif|webp);base64,))/;
    const none = "script:not([nonce]), style, iframe, object, embed, base, form form, link:not([rel=icon]):not([nonce])";
    for (const each of document.querySelectorAll("*")) {
        for (const given of each.attributes) {
            if (given.name.startsWith("on") || given.name === "style") found.push(each.outerHTML.slice(0, 200));
        }
        for (const name of ["href", "src", "action", "formaction"]) {
            const address = each.getAttribute(name);
            if (address !== null && !fine.test(address)) found.push(each.outerHTML.slice(0, 200));
        }
    }
    for (const each of document.querySelectorAll(none)) found.push(each.outerHTML.slice(0, 200));
    return found;
}"""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("hostile")
    return [everywhere(payload, number).write(root) for number, payload in enumerate(PAYLOADS)]


@pytest.fixture(scope="module")
def hostile(sessions: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root, cache = sessions[0].parents[2], tmp_path_factory.mktemp("cache")
    with Index.open(root, cache / "clew") as index:
        index.refresh()
    with serving(root, cache) as found:
        yield found


@pytest.fixture(scope="module")
def browser(hostile: Served) -> Iterator[Browser]:
    with browsing() as found:
        yield found


def pages(sessions: list[Path]) -> Iterator[str]:
    yield from (f"/sessions?page={page}" for page in range(1, len(sessions) // 60 + 2))
    yield from ("/sessions?q=%3Cscript%3E&tag=%22%3E%3Cimg%20src=x%20onerror=pwned()%3E", "/search?q=pwned&limit=200")
    yield from ("/search?q=evil+project:home", "/compare", "/search?q=%3Cscript%3Epwned()", "/search?q=project:")
    yield from ("/?by=project&days=365", "/usage?by=session&days=all", "/usage?by=tool&days=all&model=%3Cscript%3E")
    yield from ("/", "/files", "/files?q=%3Cimg%20src=x%20onerror=pwned()%3E", "/settings")
    yield from ("/palette", "/palette?q=%3Cscript%3E", f"/sessions?q={sessions[0].stem}")
    for number, path in enumerate(sessions):
        base = f"/session/{path.stem}"
        yield f"{base}?depth=full&thinking=1"
        if number % 14 == 0:
            yield from (f"{base}/charts", f"{base}?branch=1", f"/compare?left={path.stem}&right={path.stem}:1")
            yield f"{base}/agent/{read(path).agents[0].id}"


@pytest.mark.req("R235")
def test_nothing_in_a_transcript_runs(browser: Browser, hostile: Served, sessions: list[Path]) -> None:
    seen = 0
    narrow = {"width": 1000, "height": 800}  # without the list beside each session: its rows have pages of their own
    with visiting(browser, hostile, viewport=narrow) as (page, heard):
        page.add_init_script(TRAP)
        for path in pages(sessions):
            answer = page.goto(hostile.base + path)
            assert answer is not None and answer.ok, path
            assert page.evaluate(FOUND) == [], path
            page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            assert heard.nothing(), path
            seen += 1
    assert seen > len(PAYLOADS)


def test_the_trap_works(browser: Browser) -> None:
    """The same listeners hear what a page without our care would do."""
    context = browser.new_context()
    page, heard = context.new_page(), Heard()
    heard.listen(page, "http://127.0.0.1:1")
    page.add_init_script(TRAP)
    body = "<img src='https://evil.example/x.png' onerror='pwned()'><a href='javascript:pwned()'>x</a>"
    page.route("**/*", lambda route: route.abort())
    page.route("**/trap", lambda route: route.fulfill(body=body, content_type="text/html"))
    with page.expect_event("dialog"):
        page.goto("http://127.0.0.1:1/trap")
    found = page.evaluate(FOUND)
    context.close()
    assert heard.dialogs == ["pwned"]
    assert heard.strangers == ["https://evil.example/x.png"]
    assert len(found) == 2
