"""The list, the search and the palette in a real browser: by mouse, by keyboard alone, and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, expect

from benchmarks.served import Served, serving
from clew.demo.talk import bash, talk
from tests.content_times import set_last_use
from tests.web.chromium import accessible, browsing, visiting

DESK = {"width": 1440, "height": 900}
COUNT = 130
DAY = 86_400


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many") / "claude"
    for number in range(COUNT):
        told = talk(seed=number, cwd=f"/home/ada/project-{number % 12}", model="claude-opus-5").user(
            f"Question {number:03d}"
        )
        told = told.reply(f"Answer {number}", call=bash("make")).result("broken", error=number % 10 == 0).reply("Done.")
        set_last_use(told.write(folder), 1_790_000_000 - number * DAY)
    return folder


@pytest.fixture(scope="module")
def served(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(root, tmp_path_factory.mktemp("cache")) as found:
        yield found


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Browser]:
    with browsing() as found:
        yield found


def test_the_list_by_keyboard_alone(browser: Browser, served: Served) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/sessions")
        expect(page.locator("#counted")).to_have_text("60")
        for _ in range(3):
            page.keyboard.press("j")
        expect(page.locator("li.session.chosen .title")).to_have_text("Question 002")
        expect(page.locator("#preview h2")).to_have_text("Question 002")
        page.keyboard.press("p")
        expect(page.locator("li.session.chosen .pin")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("Shift+G")  # the last row loads further ones
        expect(page.locator("#counted")).to_have_text("120")
        page.locator("li.session", has_text="Question 110").locator("a.title").focus()
        page.keyboard.press("Enter")
        expect(page.locator("body.reader")).to_be_visible()
        expect(page.locator("#pane li.session").first).to_be_visible()
        page.go_back()
        expect(page.locator("li.session.chosen .title")).to_have_text("Question 110")
        expect(page.locator("li.session.chosen")).to_be_in_viewport()
        page.keyboard.press("/")
        page.keyboard.type("question 04")
        expect(page.locator(".status")).to_contain_text("12 of 130 sessions")
        page.keyboard.press("Escape")
        page.goto(f"{served.base}/sessions")
        page.locator(".filter summary", has_text="Project").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".filter[open] .narrow")).to_be_focused()
        page.keyboard.type("project-11")
        page.keyboard.press("Enter")
        expect(page.locator(".status")).to_contain_text("10 of 130 sessions")
        expect(page.locator(".list-head .chip")).to_contain_text("project: project-11")


def test_a_new_session_appears_by_itself(browser: Browser, served: Served, root: Path) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/sessions")
        expect(page.locator("li.session .title").first).to_have_text("Question 000")
        path = talk(seed="late", cwd="/home/ada/late").user("A late question").reply("yes").write(root)
        set_last_use(path, 1_790_500_000)
        expect(page.locator("li.session .title").first).to_have_text("A late question", timeout=15_000)
        page.evaluate("scrollTo(0, 2000)")
        other = talk(seed="later", cwd="/home/ada/late").user("Another one").reply("yes").write(root)
        set_last_use(other, 1_790_600_000)
        page.get_by_role("button", name="1 new session").click(timeout=15_000)
        expect(page.locator("li.session .title").first).to_have_text("Another one")
        for each in (path, other):
            each.unlink()


def test_the_palette_and_the_pane_by_keyboard(browser: Browser, served: Served) -> None:
    with visiting(browser, served, viewport=DESK) as (page, _):
        page.goto(f"{served.base}/sessions?project=project-3")
        page.keyboard.press("Control+k")
        expect(page.get_by_role("combobox", name="Go to")).to_be_focused()
        expect(page.locator("#palette [role=option]").first).to_be_visible()
        assert accessible(page) == []
        page.keyboard.type("question 015")
        expect(page.locator("#palette [role=option]").first).to_contain_text("Question 015")
        page.keyboard.press("Enter")
        expect(page.locator("body.reader")).to_be_visible()
        expect(page.locator("#pane li.session[aria-current] .title")).to_have_text("Question 015")
        assert page.locator("#pane li.session").count() == 11  # the list that was left
        page.keyboard.press("]")
        expect(page.locator("#pane li.session[aria-current] .title")).to_have_text("Question 027")
        page.keyboard.press("l")
        expect(page.locator("#pane")).to_have_count(0)
        page.reload()
        expect(page.get_by_role("button", name="Sessions")).to_be_visible()
        assert page.locator("#pane").count() == 0
        page.keyboard.press("l")
        expect(page.locator("#pane li.session").first).to_be_visible()
        page.keyboard.press("Control+k")
        page.keyboard.type("light or dark")
        expect(page.locator("#palette [role=option]").first).to_contain_text("Light or dark")
        page.keyboard.press("Escape")
        expect(page.locator("#palette")).not_to_be_visible()


def test_without_scripts_everything_works(browser: Browser, served: Served) -> None:
    with visiting(browser, served, viewport=DESK, java_script_enabled=False) as (page, _):
        page.goto(f"{served.base}/sessions")
        page.locator(".filter summary", has_text="With").click()
        page.get_by_role("link", name="errors").click()
        expect(page.locator(".status")).to_contain_text("13 of 130 sessions")
        page.locator(".list-head .chip").click()
        page.get_by_role("link", name="More sessions").click()
        expect(page.locator("li.session .title").first).to_have_text("Question 060")
        page.locator("li.session").first.hover()
        page.locator("li.session .pin").first.click()
        page.goto(f"{served.base}/sessions?is=pinned")
        expect(page.locator("li.session", has_text="Question 060")).to_be_visible()
        page.locator(".tag-form input[name=tag]").fill("later")
        page.get_by_role("button", name="Add").click()
        page.goto(f"{served.base}/sessions?tag=later")
        expect(page.locator("li.session")).to_have_count(1)
        page.goto(f"{served.base}/palette?q=question+07")
        page.get_by_role("link", name="Question 070").click()
        expect(page.locator("#turn-1")).to_be_visible()
        expect(page.locator("#pane")).not_to_be_visible()
