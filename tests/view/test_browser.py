"""Exported pages in a real Chromium, opened from a file: nothing runs, nothing is loaded, and the little there is works."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clew.conversation.session import Session
from clew.demo.demo_tree import write_demo
from clew.demo.talk import bash, talk
from clew.view.export_session import export_parts, view_options
from clew.view.header import describe_session
from clew.view.html_page import render_page
from clew.view.playback.frames import player_rows, time_frames
from clew.view.playback.player_page import player_page
from clew.view.row_html import fragments
from clew.view.rows import ViewOptions, rows
from clew.view.static_site import Exported, WordIndex, collect_words, index_page
from tests.view.payloads import PAYLOADS, everywhere
from tests.web.chromium import accessible

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


def written(path: Path, session: Session, **options: Any) -> str:
    """Write a page as `clew export` does; return its address."""
    header = describe_session(session, None, every_branch=bool(options.get("branches")))
    view = view_options("full", thinking=True, agents=True)
    path.write_bytes(b"".join(export_parts(session, "html", header, view, None, **options)))
    return path.as_uri()


def test_a_page_folds_finds_filters_and_is_dark_on_request(tab: Page, tmp_path: Path) -> None:
    told = talk().user("dig").reply("ok", call=bash("ls")).result("spade").user("sow").reply("a spade")
    loaded: list[str] = []
    tab.on("request", lambda request: loaded.append(request.url))
    address = written(tmp_path / "page.html", Session(told.reply(call=bash("rm x")).result("no", error=True).bytes()))
    tab.goto(address)
    result = tab.locator("pre", has_text="spade")
    assert not result.is_visible()
    tab.locator("summary", has_text="Bash").first.click()
    assert result.is_visible()
    tab.get_by_role("button", name="Close all").click()
    assert not result.is_visible()
    tab.keyboard.press("/")
    tab.keyboard.type("spade")
    assert tab.locator("mark").count() == 2 and tab.locator("[data-found]").inner_text() == "2"
    tab.keyboard.press("Enter")
    assert result.is_visible() and tab.locator("[data-found]").inner_text() == "1 of 2"
    assert tab.locator('a[data-turn="2"]').get_attribute("data-hits") == "1"
    tab.get_by_label("Show only").select_option("Errors")
    assert tab.locator(".turn:visible").count() == 1
    tab.get_by_label("Show only").select_option("Bash")
    assert tab.locator(".turn:visible").count() == 2
    tab.keyboard.press("Escape")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(ground) == "rgb(252, 252, 251)"
    tab.get_by_role("button", name="Light/dark").click()
    assert tab.evaluate(ground) == "rgb(22, 23, 26)"
    tab.emulate_media(color_scheme="dark")
    tab.get_by_role("button", name="Light/dark").click()
    assert tab.evaluate(ground) == "rgb(252, 252, 251)"
    assert (tab.evaluate("window.ran"), loaded) == ([], [address])


def test_the_outline_of_a_page_follows_the_reader_and_branches_are_apart(tab: Page, tmp_path: Path) -> None:
    told = talk().user("one").reply("x\n\n" * 60, call=bash("ls")).result("y").user("left").reply("y\n\n" * 60)
    session = Session(told.rewind(to=2).user("right").reply("z\n\n" * 60).bytes())
    address = written(tmp_path / "page.html", session, branches=session.branches[:1])
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.goto(address)
    assert (
        tab.locator(".branches").inner_text().startswith("This session has 2 branches; this document has all of them.")
    )
    tab.locator('a[data-turn="2"]').click()
    sync.expect(tab.locator("a[aria-current]")).to_have_text(re.compile("right"))
    tab.get_by_role("link", name="Branch 1").first.click()
    assert tab.locator("#b1-turn-2").is_visible() and tab.locator("#branch-1").is_visible()
    assert accessible(tab) == []
    tab.emulate_media(media="print", color_scheme="dark")
    assert (
        tab.evaluate("getComputedStyle(document.body).colorScheme || 'light'") and not tab.locator(".side").is_visible()
    )
    assert not tab.locator(".tools").is_visible() and tab.locator("#b1-turn-2").is_visible()
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("main details:not([open])").count() == 0
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    tab.emulate_media(media="screen", color_scheme="dark")
    tab.set_viewport_size({"width": 390, "height": 800})
    assert not tab.locator(".side").is_visible()
    tab.get_by_role("link", name="Turns").click()
    assert tab.locator(".side").is_visible() and accessible(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") == 390


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
        found = set[str]()
        list(collect_words(found, rows(session, session.turns, ViewOptions())))
        words.add(sorted(found), number)
        made.append(Exported(describe_session(session, None), f"{number}.html"))
    path = tmp_path / "index.html"
    path.write_text("".join(index_page("All", made, words)), encoding="utf-8")
    tab.goto(path.as_uri())
    field = tab.get_by_role("searchbox", name="Search these sessions")
    for asked, shown in (("the", 2), ("the see", 1), ("日本", 1), ("plough", 0), ("", 3)):
        field.fill(asked)
        assert tab.locator(".sessions > li:visible").count() == shown
    assert tab.evaluate("window.ran") == [] and accessible(tab) == []


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
    assert (shown.count(), total > 6) == (1, True), "it opens on the first prompt"
    assert tab.locator(".said", has_text="dig").is_visible() and tab.locator(".chapters > span").count() == 3
    assert accessible(tab) == []
    tab.get_by_role("button", name="Step", exact=True).click()
    assert (shown.count(), tab.locator(".reply", has_text="Well.").is_visible()) == (2, True)
    tab.get_by_role("button", name="Next turn").click()
    assert (
        tab.locator(".said", has_text="sow").is_visible() and not tab.locator(".reply", has_text="Sown.").is_visible()
    )
    assert tab.locator(".chapter").inner_text() == "Turn 2: sow"
    tab.get_by_role("button", name="Previous turn").click()
    assert shown.count() == 1
    tab.get_by_label("Speed").select_option("32")
    tab.get_by_role("button", name="Play").click()
    sync.expect(shown).to_have_count(total, timeout=60_000)
    sync.expect(tab.get_by_role("button", name="Play")).to_be_visible(timeout=60_000)
    assert tab.locator(".reply", has_text="Reaped.").is_visible()
    tab.get_by_label("Place in the recording").press("Home")
    assert shown.count() == 1
    tab.locator("body").click(position={"x": 5, "y": 200})
    for key, count in (("]", None), ("ArrowLeft", None), ("End", total), ("Home", 1), ("ArrowRight", 2), (",", 1)):
        tab.keyboard.press(key)
        assert count is None or shown.count() == count, key
    assert tab.evaluate("window.ran") == []


def test_a_recording_types_prompts_and_reads_without_scripts(tab: Page, browser: Browser, tmp_path: Path) -> None:
    long = "plant " * 200
    address = player(
        Session(talk().user("dig").reply("Well.").user(long).reply("Done.").bytes()), tmp_path / "type.html"
    )
    tab.goto(address)
    tab.get_by_role("button", name="Step", exact=True).click()
    tab.get_by_label("Speed").select_option("0.5")
    tab.get_by_role("button", name="Play").click()
    typed = tab.locator("#turn-2 .said").first
    sync.expect(tab.locator(".is-typing")).to_have_count(1, timeout=30_000)
    length = len(typed.inner_text())
    sync.expect(tab.locator(".is-typing")).to_have_count(1)
    assert length < len(long)
    tab.get_by_role("button", name="Pause").click()
    assert len(typed.inner_text()) >= len(long.strip())
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(address)
    assert plain.get_by_text("Done.").is_visible() and not plain.locator(".controls").is_visible()
    context.close()


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
