"""One stream of changes: what it tells, that many windows share it, and that they recover when the server restarts."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, Page, expect

from benchmarks.served import Served, serving
from clew.demo.talk import Talk, talk
from clew.web.live_updates import TREE_SHARE, TreeWatch
from tests.web.chromium import browsing

WINDOWS = 10


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live") / "claude"


@pytest.fixture(scope="module")
def watched(root: Path) -> Path:
    """A session that the tests change."""
    return begun().write(root)


@pytest.fixture(scope="module")
def server(root: Path, watched: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(root, tmp_path_factory.mktemp("cache")) as found:
        yield found


def begun() -> Talk:
    return talk(seed="watched", cwd="/home/ada/watched").user("first prompt").reply("first answer")


class Events:
    """The events of a stream, one after the other."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()

    def next(self, kind: str) -> dict[str, object]:
        """The next event of a kind; others are skipped."""
        for line in self._lines:
            if line == f"event: {kind}":
                value: dict[str, object] = json.loads(next(self._lines).removeprefix("data: "))
                return value
        raise AssertionError("the stream ended")


def test_a_stream_tells_the_state_of_sessions_of_the_tree_and_of_the_index(
    server: Served, root: Path, watched: Path
) -> None:
    with (
        server.client() as client,
        client.stream("GET", f"/events?session={watched.stem}&session=none&sessions=1&index=1") as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = Events(answer)
        first = events.next("session")
        assert first["id"] == watched.stem and first["state"]
        assert events.next("session") == {"id": "none", "gone": True}
        version = events.next("sessions")["version"]
        assert events.next("index")["percent"] in range(101)
        assert client.get("/sessions").status_code == 200
        assert events.next("index") == {"percent": 100, "done": 0, "total": 0, "isDone": True, "reason": ""}
        with watched.open("ab") as file:
            file.write(begun().user("second prompt").bytes()[len(begun().bytes()) :])
        grown = events.next("session")
        assert grown["id"] == watched.stem and grown["state"] != first["state"]
        changed = events.next("sessions")
        assert changed["changed"] == [watched.stem] and changed["version"] != version
        new = talk(seed="fresh", cwd="/home/ada/fresh").user("hello").reply("hi").write(root)
        assert new.stem in str(events.next("sessions")["changed"])
        text = watched.read_bytes()
        watched.unlink()
        assert events.next("session") == {"id": watched.stem, "gone": True}
        watched.write_bytes(text)
        assert events.next("session")["state"]


def test_rows_state_the_version_of_the_tree_that_they_show(server: Served, root: Path) -> None:
    with server.client() as client, client.stream("GET", "/events?sessions=1") as answer:
        events = Events(answer)
        version = events.next("sessions")["version"]
        shown = [client.get(path).text for path in ("/sessions", "/sessions/rows", "/sessions/rows?q=first")]
        assert [_version(text) for text in shown] == [version] * 3, "so a page that connects needs no update"
        assert _version(client.get("/sessions/rows?typing=1&q=first").text) == "", "news may be missing"
        talk(seed="newer", cwd="/home/ada/newer").user("hello").reply("hi").write(root)
        newer = events.next("sessions")["version"]
        assert newer != version and _version(client.get("/sessions/rows").text) == newer


def _version(html: str) -> str:
    found = re.search(r'data-version="([^"]*)"', html)
    assert found
    return found[1]


def test_a_page_that_was_made_before_the_first_look_at_the_tree_gets_an_update(tmp_path: Path) -> None:
    watch = TreeWatch(str(tmp_path))
    before = watch.edition
    assert watch.changes() == [] and watch.edition != before


@pytest.mark.parametrize("query", ["", "session=", "session=..%2f..", "session=%00", "nothing=1", "session=a" * 99])
def test_any_topics_are_answered(server: Served, query: str) -> None:
    with server.client() as client, client.stream("GET", f"/events?{query}") as answer:
        assert answer.status_code == 200


def test_looking_at_three_thousand_files_takes_less_than_a_hundredth_of_the_time(tmp_path: Path) -> None:
    for number in range(3000):
        folder = tmp_path / "projects" / f"-p{number % 30}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.jsonl").touch()
    watch = TreeWatch(str(tmp_path))
    started, clock = time.thread_time(), time.monotonic()
    assert watch.changes() == []
    cost = time.thread_time() - started
    assert watch._due - clock >= 0.9 * TREE_SHARE * cost
    (tmp_path / "projects" / "-p1" / "1.jsonl").write_text("{}\n")
    assert watch.changes() == [], "it is too early for another look"
    watch._due = 0.0
    assert watch.changes() == ["1"]
    (tmp_path / "projects" / "-p2" / "2.jsonl").unlink()
    (tmp_path / "projects" / "-p3").rename(tmp_path / "gone")
    watch._due = 0.0
    assert {"2", "3", "33"} <= set(watch.changes())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


def signed_in(browser: Browser, served: Served) -> Page:
    page = browser.new_context().new_page()
    page.goto(served.entrance)
    served.entrance = served.next_entrance()
    return page


def append(path: Path, before: Talk, after: Talk) -> None:
    with path.open("ab") as file:
        file.write(after.bytes()[len(before.bytes()) :])


def test_ten_windows_stay_live(browser: Browser, server: Served, root: Path) -> None:
    told = talk(seed="ten", cwd="/home/ada/ten").user("first prompt").reply("first answer")
    path = told.write(root)
    page = signed_in(browser, server)
    windows = [page, *(page.context.new_page() for _ in range(WINDOWS - 1))]
    for window in windows:
        window.goto(f"{server.base}/session/{path.stem}")
        expect(window.locator("#turn-1")).to_contain_text("first answer")
    append(path, told, told.user("second prompt").reply("second answer"))
    for window in windows:
        expect(window.locator("#turn-2")).to_contain_text("second answer")
        expect(window.locator("#banner")).to_be_hidden()
    page.context.close()


def test_a_browser_without_shared_workers_is_live_too(browser: Browser, server: Served, root: Path) -> None:
    told = talk(seed="alone", cwd="/home/ada/alone").user("first prompt").reply("first answer")
    path = told.write(root)
    page = signed_in(browser, server)
    page.add_init_script("delete window.SharedWorker")
    page.goto(f"{server.base}/session/{path.stem}")
    page.wait_for_function("clew.isConnected()")
    append(path, told, told.user("second prompt").reply("second answer"))
    expect(page.locator("#turn-2")).to_contain_text("second answer")
    page.context.close()


def test_windows_recover_when_the_server_restarts(browser: Browser, root: Path, tmp_path: Path) -> None:
    told = talk(seed="restart", cwd="/home/ada/restart").user("first prompt").reply("first answer")
    path = told.write(root)
    with serving(root, tmp_path) as first:
        page = signed_in(browser, first)
        page.goto(f"{first.base}/session/{path.stem}")
        other = page.context.new_page()
        other.goto(f"{first.base}/settings")
        listing, searching = page.context.new_page(), page.context.new_page()
        listing.goto(f"{first.base}/sessions")
        searching.goto(f"{first.base}/search?q=prompt")
        expect(searching.locator("li.session").first).to_be_visible()
        port = str(first.port)
    listing.locator("#find input[type=search]").fill("nothing has this")
    expect(listing.locator("#rows")).to_have_class(re.compile("is-stale"))
    searching.locator("#find input[type=search]").fill("nothing has this")
    expect(searching.locator("#found")).to_have_class(re.compile("is-stale"))
    expect(searching.locator(".toast")).to_contain_text("not the results of this search")
    for window in (page, other, listing, searching):
        expect(window.locator("#banner")).to_have_text("Not connected, retrying. Is clew serve running?")
        assert window.evaluate("getComputedStyle(document.querySelector('main')).opacity") < "1"
    more = told.user("second prompt").reply("second answer")
    append(path, told, more)
    with serving(root, tmp_path, "--port", port) as second:
        for window in (page, other, listing, searching):
            expect(window.locator("#banner")).to_be_hidden()
        expect(listing.locator("#rows li.session")).to_have_count(0)
        expect(searching.locator("#found li.session")).to_have_count(0)
        expect(page.locator("#turn-2")).to_contain_text("second answer")
        append(path, more, more.user("third prompt").reply("third answer"))
        expect(page.locator("#turn-3")).to_contain_text("third answer")
        page.goto(f"{second.base}/session/{path.stem}#turn-2")
        expect(page.locator("#turn-2")).to_be_in_viewport()
        path.unlink()
        expect(page.locator("#banner")).to_contain_text("was deleted")
    with serving(root, tmp_path, "--port", port, "--new-key"):
        expect(other.locator("#banner")).to_have_text("Signed out: reload this page to sign in.")
    page.context.close()


def test_a_chosen_theme_is_there_before_anything_is_painted(browser: Browser, server: Served, watched: Path) -> None:
    page = signed_in(browser, server)
    page.emulate_media(color_scheme="light")
    other = page.context.new_page()
    other.goto(f"{server.base}/settings")
    with page.expect_response("**/settings"):
        page.get_by_role("button", name="Switch between light and dark").click()
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    for path in (f"/session/{watched.stem}", "/settings", "/nowhere"):
        assert b'data-theme="dark"' in page.request.get(server.base + path).body()[:200], path
    page.context.close()


def test_what_was_done_is_said_visibly(browser: Browser, server: Served, watched: Path) -> None:
    page = signed_in(browser, server)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{server.base}/session/{watched.stem}")
    button = page.locator("[data-copies]").first
    button.evaluate("each => { for (let at = each; at; at = at.parentElement) if ('open' in at) at.open = true }")
    button.click()
    toast = page.locator(".toast")
    expect(toast).to_contain_text("opied")
    box = toast.bounding_box()
    assert box and box["width"] > 40 and box["height"] > 20
    page.context.close()
