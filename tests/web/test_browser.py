"""The pages in a real browser, as somebody uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, Page, expect

from benchmarks.served import Served
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import Talk, bash, talk
from tests.content_times import set_last_use
from tests.web.chromium import accessible, browsing, visiting

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Browser]:
    with browsing() as found:
        yield found


def long_talk() -> Talk:
    told = talk(seed="a long one", cwd="/home/ada/long")
    for number in range(1, 181):
        told = told.user(f"prompt {number}").reply("looking", call=bash(f"echo {number}")).result(str(number))
        told = told.reply(f"answer {number}")
    return told


@pytest.fixture(scope="module")
def long_session(demo: DemoSummary) -> str:
    path = long_talk().write(demo.root)
    set_last_use(path, 1_700_000_000)
    return path.stem


def title(page: Page) -> str:
    return page.locator("h1").inner_text()


def test_open_search_and_read(browser: Browser, served: Served) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        assert "token" not in page.url
        page.goto(f"{served.base}/sessions")
        expect(page.locator(".sessions > li").first).to_be_visible()
        page.get_by_role("link", name="Search", exact=True).click()
        page.locator("#find input").first.press_sequentially("tax off")
        expect(page.locator(".passage mark").first).to_be_visible()
        page.wait_for_url("**q=tax*")
        page.locator(".passage a").first.click()
        expect(page.locator("h1")).to_contain_text("Fix one-cent rounding")
        assert re.search(r"#turn-\d+$", page.url)
        expect(page.locator(page.url[page.url.index("#") :])).to_be_in_viewport()


def test_a_query_that_cannot_be_understood_says_why(browser: Browser, served: Served) -> None:
    with visiting(browser, served) as (page, _):
        page.goto(f"{served.base}/search")
        page.locator("#find input").first.fill("in:nowhere")
        expect(page.get_by_role("status").first).to_contain_text("in: takes title, prompt")
        page.locator("#find input").first.fill("zzyzxq")
        expect(page.get_by_role("status").first).to_have_text("Nothing matches.")


def test_reading_goes_on_as_it_is_scrolled(browser: Browser, served: Served, long_session: str) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{long_session}")
        expect(page.locator("#turn-1")).to_be_visible()
        assert page.locator("#turn-180").count() == 0
        assert page.locator("#outline a").count() == 180
        for _ in range(60):
            page.mouse.wheel(0, 4000)
            if page.locator("#turn-180").count():
                break
            page.wait_for_timeout(50)
        expect(page.locator("#turn-180")).to_be_attached()
        assert page.locator(".turn[id]").count() == 180


def test_a_turn_has_an_address(browser: Browser, served: Served, long_session: str) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{long_session}#turn-120")
        expect(page.locator("#turn-120")).to_be_in_viewport()
        assert "page=" in page.url
        page.goto(f"{served.base}/session/{long_session}/turn/77")
        expect(page.locator("#turn-77")).to_be_in_viewport()
        assert page.url.endswith("#turn-77")
        page.locator("#outline a[data-turn='150']").click()
        expect(page.locator("#turn-150")).to_be_in_viewport()
        expect(page.locator("#outline a[data-turn='150']")).to_have_attribute("aria-current", "true")
        page.mouse.move(600, 500)
        page.mouse.wheel(0, -4000)
        expect(page.locator(".page")).not_to_have_count(1)
        expect(page.locator("#turn-150")).to_be_attached()


def test_a_running_session_is_followed(browser: Browser, served: Served, demo: DemoSummary) -> None:
    told = talk(seed="live", cwd="/home/ada/live").user("first prompt").reply(call=bash("make"))
    path = told.write(demo.root)
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{path.stem}")
        expect(page.locator(".call.waiting")).to_be_visible()
        expect(page.locator("#numbers .live")).to_be_visible()
        expect(page.locator("#numbers")).to_contain_text("1 turn")
        more = told.result("built <b>it</b>").reply("It is built.").user("and the second").reply("Done too.")
        with open(path, "ab") as file:
            file.write(more.bytes()[len(told.bytes()) :])
        expect(page.locator("#turn-2")).to_contain_text("Done too.")
        expect(page.locator("#turn-1")).to_contain_text("It is built.")
        expect(page.locator(".call.waiting")).to_have_count(0)
        expect(page.locator("#outline li")).to_have_count(2)
        expect(page.locator("#toasts")).to_have_text("Turn 2 has begun.")
        expect(page.locator("#numbers")).to_contain_text("2 turns")
        back = more.rewind(to=2).user("another second").reply("Another way.")
        with open(path, "ab") as file:
            file.write(back.bytes()[len(more.bytes()) :])
        expect(page.locator("#turn-2")).to_contain_text("Another way.")
        expect(page.locator("#branch option")).to_have_count(2)


def test_branches_are_switched_and_compared(browser: Browser, served: Served, demo: DemoSummary) -> None:
    told = talk(seed="forked", cwd="/home/ada/forked").user("begin").reply("begun").user("left way").reply("went left")
    path = told.rewind(to=2).user("right way").reply("went right").write(demo.root)
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{path.stem}")
        expect(page.locator("#turn-2")).to_contain_text("went right")
        page.get_by_label("Branch").select_option(label="1: left way")
        expect(page.locator("#turn-2")).to_contain_text("went left")
        assert "branch=1" in page.url
        expect(page.locator("#turn-2 .fork")).to_have_text("branch 2: right way")
        page.get_by_label("More about this session").click()
        page.get_by_role("link", name="Compare").click()
        page.goto(f"{served.base}/compare?left={path.stem}&right={path.stem}:1")
        expect(page.locator("#left-turn-2")).to_contain_text("went right")
        expect(page.locator("#right-turn-2")).to_contain_text("went left")
        expect(page.locator("main")).to_contain_text("The first turn is the same in both.")
        assert accessible(page) == []


def test_agents_are_nested_and_on_pages_of_their_own(browser: Browser, served: Served, demo: DemoSummary) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/session/{demo.sessions['agents']}")
        agent = page.locator("details.agent").first
        agent.locator("xpath=ancestor::details").first.evaluate("each => { each.open = true }")
        agent.locator("> summary").click()
        agent.get_by_role("link", name="Open on its own page").click()
        expect(page.locator("main")).to_contain_text("An agent of the session")
        assert "/agent/" in page.url
        expect(page.locator(".turn").first).to_be_visible()


def test_charts_copies_and_exports(browser: Browser, served: Served, demo: DemoSummary) -> None:
    address = f"{served.base}/session/{demo.sessions['rounding']}"
    with visiting(browser, served, viewport=DESK, permissions=["clipboard-read", "clipboard-write"]) as (page, _):
        page.goto(address)
        more = page.get_by_label("More about this session")
        more.click()
        page.locator("[data-copies=resume]").click()
        expect(page.locator("#toasts")).to_have_text("The command was copied.")
        assert demo.sessions["rounding"] in page.evaluate("navigator.clipboard.readText()")
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Turn 1 as Markdown").click()
        expect(page.locator("#toasts")).to_have_text("The turn was copied.")
        assert page.evaluate("navigator.clipboard.readText()").startswith("## 1 · The till says 2.68")
        page.get_by_role("link", name="Prompt of turn 2").click()
        expect(page.locator("#toasts")).to_have_text("The prompt was copied.")
        assert page.evaluate("navigator.clipboard.readText()").startswith("Good. Use Decimal")
        more.click()
        with page.expect_download() as saved:
            page.get_by_role("link", name="HTML").click()
        assert saved.value.suggested_filename.endswith(f"-{demo.sessions['rounding'][:8]}.html")
        page.get_by_role("link", name="Charts").click()
        expect(page.get_by_role("group", name="Context by turn")).to_be_visible()
        expect(page.get_by_role("group", name="Cost by turn")).to_be_visible()
        assert page.locator("tbody tr").count() >= 3
        assert accessible(page) == []


def test_keyboard_alone(browser: Browser, served: Served) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/sessions")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator(".sessions > li").nth(1)).to_have_class("session chosen")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        expect(page.locator("body.reader")).to_be_visible()
        page.keyboard.press("j")
        expect(page.locator("#turn-1")).to_have_class("turn chosen")
        page.keyboard.press("Shift+G")
        expect(page.locator(".turn.chosen")).to_be_in_viewport()
        page.keyboard.press("g")
        page.keyboard.press("g")
        expect(page.locator("#turn-1")).to_have_class("turn chosen")
        page.keyboard.press("o")
        expect(page.locator("#turn-1 details.call").first).to_have_attribute("open", "")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.get_by_label("Find in this session")).to_be_focused()
        page.keyboard.type("cent")
        expect(page.locator("#pages mark").first).to_be_visible()


def test_dark_stays_dark(browser: Browser, served: Served) -> None:
    with visiting(browser, served, color_scheme="light") as (page, _):
        page.get_by_role("button", name="Switch between light and dark").click()
        page.reload()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 23, 26)"


def test_a_page_of_another_port_gets_nothing(browser: Browser, served: Served) -> None:
    """Browsers count all ports of a machine as one site, so that the cookie is no protection."""
    evil = f"""<script>
        const base = "{served.base}";
        window.done = Promise.allSettled([
            fetch(base + "/sessions/rows", {{ credentials: "include", mode: "no-cors" }}),
            fetch(base + "/sessions/rows", {{ credentials: "include" }}),
            fetch(base + "/sessions/rows", {{ credentials: "include", method: "POST", mode: "no-cors" }}),
            new Promise(done => {{ const image = new Image(); image.onerror = done; image.src = base + "/"; }}),
        ]);
    </script><iframe src="{served.base}/"></iframe>"""
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.entrance)
    served.entrance = served.next_entrance()
    expect(page.locator("body.start")).to_be_visible()
    page.route("http://127.0.0.1:1/evil", lambda route: route.fulfill(body=evil, content_type="text/html"))
    answers: list[int] = []
    page.on("response", lambda answer: answers.append(answer.status) if answer.url.startswith(served.base) else None)
    page.goto("http://127.0.0.1:1/evil")
    outcomes = page.evaluate("window.done.then(all => all.map(one => one.status))")
    context.close()
    assert outcomes == ["rejected", "rejected", "rejected", "fulfilled"], "the last is the picture that failed"
    assert set(answers) <= {403, 405}


def test_everything_can_be_read_without_scripts(browser: Browser, served: Served, long_session: str) -> None:
    with visiting(browser, served, java_script_enabled=False) as (page, _):
        page.goto(f"{served.base}/search")
        page.locator("#find input").first.fill("lettuce")
        page.get_by_role("button", name="Search", exact=True).click()
        page.locator("li.session a.title").first.click()
        expect(page.locator("#turn-1")).to_be_visible()
        page.goto(f"{served.base}/session/{long_session}")
        page.get_by_role("link", name="Later").click()
        assert "page=2" in page.url
        expect(page.get_by_role("link", name="Earlier")).to_be_visible()
        page.get_by_role("link", name="180 prompt 180").click()
        expect(page.locator("#turn-180")).to_be_in_viewport()
