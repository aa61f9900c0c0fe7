"""Exported pages in a real Chromium, opened from a file: nothing runs, nothing is loaded, and the little there is works."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clew.conversation.session import Session
from clew.demo.demo_tree import write_demo
from clew.demo.talk import bash, talk
from clew.view.header import describe_session
from clew.view.html_page import render_page
from clew.view.playback.frames import player_rows, time_frames
from clew.view.playback.player_page import player_page
from clew.view.row_html import fragments
from clew.view.rows import ViewOptions, rows
from clew.view.static_site import Exported, WordIndex, index_page
from tests.view.payloads import PAYLOADS, everywhere

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync = pytest.importorskip("playwright.sync_api")
WHOLE = ViewOptions(depth="full", thinking=True, meta=True, lines=None, diff_lines=None, details=True)
PICTURE = Path(__file__).parents[2] / "docs/export.png"
WATCH = """
window.ran = [];
window.pwned = () => window.ran.push("pwned");
document.addEventListener("securitypolicyviolation", (e) => window.ran.push(e.violatedDirective + " " + e.blockedURI));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("there is no chromium")
        pytest.skip("there is no chromium")
    with sync.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A tab that notes every script that ran or was refused."""
    context = browser.new_context(color_scheme="light")
    tab = context.new_page()
    tab.add_init_script(WATCH)
    yield tab
    context.close()


def test_no_payload_runs_or_loads_anything(tab: Page, tmp_path: Path) -> None:
    made: list[str] = []
    for number, payload in enumerate(PAYLOADS):
        session = Session(everywhere(payload, number).bytes())
        made += fragments(rows(session, session.turns, WHOLE), f"p{number}-")
    head = describe_session(Session(everywhere("".join(PAYLOADS[:20])).bytes()), None)
    path = tmp_path / "payloads.html"
    path.write_text("".join(render_page(head, made, enumerate(PAYLOADS))), encoding="utf-8", errors="replace")
    loaded: list[str] = []
    tab.on("request", lambda request: loaded.append(request.url))
    tab.goto(path.as_uri())
    tab.get_by_role("button", name="Open all").click()
    assert tab.locator("main > section").count() == 3 * len(PAYLOADS)
    assert tab.evaluate("window.ran") == []
    assert loaded == [path.as_uri()]
    named = "[...document.querySelectorAll('body *')].flatMap(e => [...e.attributes].map(a => a.name))"
    assert not [name for name in tab.evaluate(named) if name.startswith("on") or name in ("style", "srcdoc")]


def test_a_page_folds_and_is_dark_on_request(tab: Page, tmp_path: Path) -> None:
    session = Session(talk().user("dig").reply("ok", call=bash("ls")).result("spade").user("sow").reply("done").bytes())
    path = tmp_path / "page.html"
    outline = [(turn.number, turn.text) for turn in session.turns]
    path.write_text(
        "".join(render_page(describe_session(session, None), fragments(rows(session, session.turns, WHOLE)), outline))
    )
    tab.goto(path.as_uri())
    assert not tab.get_by_text("spade").is_visible()
    tab.get_by_text("Bash").click()
    assert tab.get_by_text("spade").is_visible()
    tab.get_by_role("button", name="Close all").click()
    assert not tab.get_by_text("spade").is_visible()
    ground = "getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(ground) == "rgb(252, 252, 251)"
    tab.get_by_role("button", name="Light/dark").click()
    assert tab.evaluate(ground) == "rgb(22, 23, 26)"
    tab.emulate_media(color_scheme="dark")
    tab.get_by_role("button", name="Light/dark").click()
    assert tab.evaluate(ground) == "rgb(252, 252, 251)"
    assert tab.evaluate("window.ran") == []


def test_a_page_reads_without_scripts(browser: Browser, tmp_path: Path) -> None:
    session = Session(talk().user("dig").reply("ok", call=bash("ls")).result("spade").bytes())
    path = tmp_path / "page.html"
    path.write_text(
        "".join(render_page(describe_session(session, None), fragments(rows(session, session.turns, WHOLE))))
    )
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(path.as_uri())
    assert tab.get_by_text("dig").last.is_visible() and tab.get_by_text("Open all").count() == 1
    assert not tab.get_by_text("Open all").is_visible()
    tab.get_by_text("Bash").click()
    assert tab.get_by_text("spade").is_visible()
    context.close()


def test_an_index_searches_from_a_file(tab: Page, tmp_path: Path) -> None:
    words, made = WordIndex(), []
    for number, text in enumerate(("Dig the beds", "Sow the seeds", "修复日本語の種")):
        session = Session(talk(seed=number).user(text).reply("ok").bytes())
        list(words.index_rows(rows(session, session.turns, ViewOptions()), number))
        made.append(Exported(describe_session(session, None), f"{number}.html"))
    path = tmp_path / "index.html"
    path.write_text("".join(index_page("All", made, words)), encoding="utf-8")
    tab.goto(path.as_uri())
    field = tab.get_by_role("searchbox", name="Search these sessions")
    for asked, shown in (("the", 2), ("the see", 1), ("日本", 1), ("plough", 0), ("", 3)):
        field.fill(asked)
        assert tab.locator(".sessions > li:visible").count() == shown
    assert tab.evaluate("window.ran") == []


def player(session: Session, path: Path) -> str:
    """A page that plays a session; where it lies."""
    shown = player_rows(session, session.turns, WHOLE, is_whole=True)
    path.write_text(
        "".join(player_page(describe_session(session, None), time_frames(shown))), encoding="utf-8", errors="replace"
    )
    return path.as_uri()


def test_a_recording_plays_steps_and_jumps(tab: Page, tmp_path: Path) -> None:
    made = talk().user("dig").reply("Well.", call=bash("ls")).result("spade").user("sow").reply("Sown.")
    tab.goto(player(Session(made.user("reap").reply("Reaped.").bytes()), tmp_path / "play.html"))
    shown = tab.locator(".frame:visible")
    total = tab.locator(".frame").count()
    assert (shown.count(), total > 6) == (0, True)
    tab.get_by_role("button", name="Step").click()
    assert (shown.count(), tab.locator(".said", has_text="dig").is_visible()) == (1, True)
    tab.get_by_role("button", name="Next turn").click()
    assert (
        tab.locator(".said", has_text="sow").is_visible() and not tab.locator(".reply", has_text="Sown.").is_visible()
    )
    tab.get_by_role("button", name="Turn before").click()
    assert shown.count() == 1
    tab.get_by_label("Speed").select_option("32")
    tab.get_by_role("button", name="Play").click()
    sync.expect(shown).to_have_count(total, timeout=60_000)
    sync.expect(tab.get_by_role("button", name="Play")).to_be_visible(timeout=60_000)
    assert tab.locator(".reply", has_text="Reaped.").is_visible()
    tab.get_by_label("Place in the recording").fill("2")
    assert shown.count() == 2
    assert tab.evaluate("window.ran") == []


def test_a_recording_runs_and_loads_nothing_of_a_transcript(tab: Page, tmp_path: Path) -> None:
    loaded: list[str] = []
    tab.on("request", lambda request: loaded.append(request.url))
    address = player(Session(everywhere("".join(PAYLOADS)).bytes()), tmp_path / "payloads.html")
    tab.goto(address)
    tab.get_by_label("Place in the recording").press("End")
    assert tab.locator(".frame:visible").count() == tab.locator(".frame").count() > 3
    assert (tab.evaluate("window.ran"), loaded) == ([], [address])
    tab.set_viewport_size({"width": 360, "height": 700})
    assert tab.evaluate("document.documentElement.scrollWidth") == 360


def test_the_docs_show_a_page(tab: Page, tmp_path: Path) -> None:
    """`CLEW_UPDATE_PICTURES=1` takes the picture anew; fonts differ, so it is compared with nothing."""
    demo = write_demo(tmp_path / "claude", datetime(2026, 6, 1, 12, tzinfo=UTC))
    session = Session(next((tmp_path / "claude").rglob(f"{demo.sessions['planned']}.jsonl")))
    path = tmp_path / "page.html"
    options = ViewOptions(details=True, thinking=True)
    path.write_text(
        "".join(render_page(describe_session(session, None), fragments(rows(session, session.turns, options)))), "utf-8"
    )
    tab.set_viewport_size({"width": 860, "height": 900})
    tab.goto(path.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") == 860
    if os.environ.get("CLEW_UPDATE_PICTURES"):
        tab.screenshot(path=PICTURE)
    assert PICTURE.stat().st_size < 200_000
    tab.set_viewport_size({"width": 360, "height": 700})
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
