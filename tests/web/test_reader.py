"""The reader in a real browser: its place, finding, folding, the outline, and what each part says."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, Page, expect

from benchmarks.served import Served
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import Talk, bash, edit, read, talk
from tests.view.payloads import PAYLOADS
from tests.web.chromium import accessible, browsing, visiting

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}
MARKS = "document.querySelectorAll('#pages mark').length"


def long_talk() -> Talk:
    told = talk(seed="reader", cwd="/home/ada/reader")
    for number in range(1, 161):
        told = told.user(f"prompt {number}").reply("looking", call=bash(f"echo {number}")).result(f"result {number}")
        told = told.reply(f"answer {number}" + (" with quincunx" if number in (3, 4, 120) else ""))
    return told


def deep_talk() -> Talk:
    """One turn of many calls, one of them with a word that is nowhere else."""
    told = talk(seed="deep", cwd="/home/ada/deep").user("do it all")
    for number in range(120):
        told = told.reply(f"step {number}").reply(call=bash(f"run {number}"))
        told = told.result("the pangolin sleeps" if number == 100 else "done", error=number == 7)
    return told.reply(call=edit("/home/ada/deep/a.py", "x = 1", "x = 2")).result().reply("finished")


@pytest.fixture(scope="module")
def long_session(demo: DemoSummary) -> str:
    path = long_talk().write(demo.root)
    os.utime(path, (time.time() - 3600, time.time() - 3600))
    return path.stem


@pytest.fixture(scope="module")
def deep_session(demo: DemoSummary) -> Path:
    return deep_talk().write(demo.root)


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Browser]:
    with browsing() as found:
        yield found


def scroll_to(page: Page, number: int) -> None:
    """Scroll as a person does, until a turn is there."""
    page.mouse.move(600, 500)
    for _ in range(120):
        if page.locator(f"#turn-{number}").count():
            page.locator(f"#turn-{number}").scroll_into_view_if_needed()
            page.mouse.wheel(0, 300)
            return
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(30)
    raise AssertionError(f"turn {number} never came")


def test_the_address_follows_reading_and_back_returns(browser: Browser, served: Served, long_session: str) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{long_session}")
        assert "#" not in page.url, "the address is plain until somebody scrolls"
        scroll_to(page, 90)
        page.wait_for_url(re.compile(r"#turn-(8|9)\d$"))
        page.wait_for_function(
            "() => location.hash === '#turn-' + document.querySelector('#outline a[aria-current]')?.dataset.turn"
        )
        expect(page.locator("#outline a[aria-current]")).to_be_in_viewport()
        at = str(page.evaluate("location.href"))
        page.goto(f"{served.base}/sessions")
        page.go_back()
        expect(page.locator(at[at.index("#") :])).to_be_in_viewport()
        page.keyboard.press("Shift+G")
        expect(page.locator("#turn-160")).to_be_in_viewport()
        assert page.url.endswith("#turn-160")
        page.keyboard.press("k")
        page.wait_for_url(re.compile("#turn-159$"))
        page.keyboard.press("g")
        page.keyboard.press("g")
        expect(page.locator("#turn-1")).to_be_in_viewport()
        page.goto(f"{served.base}/session/{long_session}/turn/100")
        expect(page.locator("#turn-100")).to_be_in_viewport()
        for _ in range(100):
            page.mouse.wheel(0, -3000)
            if page.locator("#turn-1").count():
                break
            page.wait_for_timeout(30)
        expect(page.locator("#turn-1")).to_be_attached()


def test_find_knows_all_turns_and_marks_those_that_are_loaded(
    browser: Browser, served: Served, long_session: str
) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{long_session}")
        page.keyboard.press("/")
        page.keyboard.type("quincunx")
        expect(page.locator("#found")).to_have_text("3")
        assert page.evaluate(MARKS) == 2
        expect(page.locator('#outline a[data-turn="120"]')).to_have_attribute("data-hits", "1")
        page.keyboard.press("Enter")
        expect(page.locator("#turn-3 mark.current")).to_be_in_viewport()
        page.keyboard.press("Enter")
        expect(page.locator("#turn-4 mark.current")).to_be_in_viewport()
        page.keyboard.press("Enter")
        expect(page.locator("#turn-120 mark.current")).to_be_in_viewport()
        expect(page.locator("#found")).to_have_text("3 of 3")
        page.get_by_label("Find in this session").fill("result 120")
        expect(page.locator("#turn-120 summary[data-hits]")).to_have_attribute("data-hits", "1")
        page.get_by_label("Next match").click()
        expect(page.locator("#turn-120 details.call[open] mark.current")).to_be_in_viewport()
        assert accessible(page) == []
        page.get_by_label("Find in this session").fill("looking")
        page.get_by_label("Next match").click()
        page.keyboard.press("n")
        expect(page.locator("#found")).to_contain_text(" of 160")
        page.get_by_label("Find in this session").fill("")
        expect(page.locator("#pages mark")).to_have_count(0)


def test_a_hit_lands_opened_and_marked_inside_a_long_turn(
    browser: Browser, served: Served, client: httpx.Client, deep_session: Path
) -> None:
    base = f"/session/{deep_session.stem}"
    (hit,) = client.get(f"{base}/find?q=PANGOLIN", headers={"Accept": "application/json"}).json()["hits"]
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}{base}/at/{hit['offset']}?find=pangolin")
        expect(page.locator("details.call[open] mark.current")).to_be_in_viewport()
        assert page.evaluate(MARKS) == 1 and "#call-" in page.url
        page.goto(f"{served.base}{base}?only=errors")
        expect(page.locator(".call")).to_have_count(1)
        expect(page.locator(".filtered")).to_contain_text("Only errors in 1 turn.")
        page.goto(f"{served.base}{base}?only=edits&split=1")
        expect(page.locator(".diff ins")).to_be_visible()
        removed, added = (page.locator(f".diff {name}").bounding_box() for name in ("del", "ins"))
        assert removed and added and removed["y"] == added["y"] and removed["x"] < added["x"]
        page.keyboard.press("s")
        removed, added = (page.locator(f".diff {name}").bounding_box() for name in ("del", "ins"))
        assert removed and added and removed["y"] < added["y"]
    with visiting(browser, served, java_script_enabled=False) as (page, _):
        page.goto(f"{served.base}{base}")
        page.get_by_label("Find in this session").fill("pangolin")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Turn 1").click()
        expect(page.locator("details.call[open] mark")).to_be_in_viewport()


def test_all_calls_open_and_close(browser: Browser, served: Served, deep_session: Path) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{deep_session.stem}")
        page.get_by_role("button", name="Open all").click()
        assert page.locator("#pages details:not([open])").count() == 0
        page.get_by_role("button", name="Close all").click()
        assert page.locator("#pages details[open]").count() == 0


def test_a_picture_enlarges(browser: Browser, served: Served, demo: DemoSummary) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{demo.sessions['images']}")
        page.keyboard.press("Shift+O")
        page.locator(".picture img").first.click()
        expect(page.locator("dialog.lightbox img")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog.lightbox")).to_have_count(0)


def test_the_outline_is_a_drawer_on_a_phone(browser: Browser, served: Served, long_session: str) -> None:
    with visiting(browser, served, viewport=PHONE, color_scheme="dark") as (page, _):
        page.goto(f"{served.base}/session/{long_session}")
        expect(page.locator("#side")).to_be_hidden()
        first = page.locator(".prompt").first.bounding_box()
        assert first and first["y"] < 220, "at most two lines precede the first prompt"
        page.get_by_label("Outline", exact=True).first.click()
        expect(page.locator("#side")).to_be_visible()
        assert accessible(page) == []
        page.locator('#outline a[data-turn="130"]').click()
        expect(page.locator("#turn-130")).to_be_in_viewport()
        expect(page.locator("#side")).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_code_diffs_and_decisions_are_accessible(
    browser: Browser, served: Served, demo: DemoSummary, scheme: str
) -> None:
    with visiting(browser, served, viewport=DESK, color_scheme=scheme) as (page, _):
        page.goto(f"{served.base}/session/{demo.sessions['bad-day']}?depth=full")
        page.keyboard.press("Shift+O")
        page.get_by_label("More about this session").click()
        assert accessible(page) == []
        first = page.locator(".prompt").first.bounding_box()
        assert first and first["y"] < 160, "at most two lines precede the first prompt"


def test_printing_says_where_the_whole_session_is(browser: Browser, served: Served, long_session: str) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{long_session}")
        page.emulate_media(media="print")
        expect(page.locator(".print-note")).to_contain_text(f"/session/{long_session}/export/html")
        expect(page.locator(".find")).to_be_hidden()


# -- without a browser


def test_the_header_counts_the_branch_that_is_shown(demo: DemoSummary, client: httpx.Client) -> None:
    told = talk(seed="scopes").user("begin").reply("b", usage={"output_tokens": 100})
    told = told.user("left").reply("l", usage={"output_tokens": 1000}).rewind(to=2)
    path = told.user("right").reply("r", usage={"output_tokens": 20}).write(demo.root)
    shown = client.get(f"/session/{path.stem}/header").text
    assert "2 turns" in shown and "120 output tokens" in shown
    assert "1.1k output tokens" in client.get(f"/session/{path.stem}/header?branch=1").text


def test_only_a_session_that_was_written_lately_is_live(
    client: httpx.Client, long_session: str, deep_session: Path
) -> None:
    assert 'class="live"' not in client.get(f"/session/{long_session}").text
    assert 'class="live"' in client.get(f"/session/{deep_session.stem}").text


def test_a_large_session_shows_its_first_turns_before_all_is_read(demo: DemoSummary, client: httpx.Client) -> None:
    told = talk(seed="large").user("the first of many").reply("at once")
    path = told.user("next").reply(call=bash("cat")).result("x" * 5_000_000).reply("end").write(demo.root)
    page = client.get(f"/session/{path.stem}").text
    loading, early, whole = page.index("Reading 10 MB …"), page.index('id="early-turn-1"'), page.index('id="pages"')
    assert loading < early < whole
    assert 'id="early"' not in client.get(f"/session/{path.stem}").text, "it has been read now"


def test_left_out_lines_lead_to_the_whole_output(demo: DemoSummary, client: httpx.Client) -> None:
    lines = "\n".join(f"line {number}" for number in range(400))
    path = talk(seed="cut").user("go").reply(call=bash("seq")).result(lines).reply("end").write(demo.root)
    link = re.search(
        r'<div class="more"><a href="([^"]+)">… 370 more lines</a>', client.get(f"/session/{path.stem}").text
    )
    assert link
    answer = client.get(link[1])
    assert answer.status_code == 303 and re.search(r"depth=full.*#call-toolu_\w+$", answer.headers["location"])
    assert "line 399" in client.get(answer.headers["location"]).text
    assert client.get(f"/session/{path.stem}/call/none").status_code == 404


@pytest.mark.parametrize("words", ["", " ", "a" * 5000, '"', "\x00", "\ud83d", "<b>", "İ", "(", *PAYLOADS[:4]])
def test_any_words_can_be_looked_for(client: httpx.Client, demo: DemoSummary, words: str) -> None:
    base = f"/session/{demo.sessions['rounding']}"
    query = {"q": words.encode("utf-8", "replace").decode(), "find": words.encode("utf-8", "replace").decode()}
    for path in (f"{base}/find", base, f"{base}/at/0"):
        answer = client.get(path, params=query, follow_redirects=True)
        assert (
            answer.status_code == 200
            and "<script>pwned" not in answer.text
            and "<b>" not in answer.text.split("main")[0]
        )


def test_a_match_in_markup_is_not_marked(client: httpx.Client, demo: DemoSummary) -> None:
    page = client.get(f"/session/{demo.sessions['rounding']}", params={"find": "amp"}).text
    assert "&<mark>" not in page and 'class="<mark>' not in page
    page = client.get(f"/session/{demo.sessions['rounding']}", params={"find": "section"}).text
    assert "<<mark>" not in page


def test_a_file_read_is_shown_with_its_numbers(client: httpx.Client, demo: DemoSummary) -> None:
    told = talk(seed="numbers").user("go").reply(call=read("/g/a.py", "import os\n")).result().reply("end")
    assert (
        '<span data-n="   1"><span class="t-keyword">import</span>'
        in client.get(f"/session/{told.write(demo.root).stem}").text
    )
