"""Two sessions side by side: what differs is marked, and every session can be chosen."""

from __future__ import annotations

import re
from html import unescape

import httpx
import pytest
from playwright.sync_api import expect

from benchmarks.served import Served
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import talk
from clew.demo.tool_inputs import write
from tests.web.chromium import accessible, browsing, visiting

ORDERS = "/home/ada/shop/orders.py"


@pytest.fixture(scope="module")
def sides(demo: DemoSummary) -> tuple[str, str]:
    """Two sessions with a shared, a changed and a different turn; each writes a file in its own way."""

    def told(seed: str, word: str) -> str:
        made = talk(seed=seed, cwd="/home/ada/shop").user("look around").reply("Nothing here.")
        made = made.user(f"write the {word} version of the orders module please").reply(
            call=write(ORDERS, f"kind = '{word}'\n")
        )
        return made.result().user(f"{word}!").reply("Done.").title(f"The {word} shop").write(demo.root).stem

    return told("first", "small"), told("second", "large")


def test_turns_are_aligned_and_changed_words_marked(client: httpx.Client, sides: tuple[str, str]) -> None:
    page = unescape(client.get("/compare", params={"left": sides[0], "right": sides[1]}).text)
    assert '<span class="badge">same</span> Turn 1: look around' in page
    assert '<span class="badge">other prompt, calls</span>' in page
    assert re.search(
        r'write the <b class="word">small</b> version.*write the <b class="word">large</b> version', page, re.S
    )
    assert '<span class="badge">different turns</span>' in page and "1 different" in page


def test_files_that_differ_are_shown_below(client: httpx.Client, sides: tuple[str, str]) -> None:
    page = unescape(client.get("/compare", params={"left": sides[0], "right": sides[1]}).text)
    files = page.partition('id="files"')[2]
    assert "1 file differs" in page and "<code>orders.py</code>" in files and "small" in files and "large" in files
    same = client.get("/compare", params={"left": sides[0], "right": sides[0]}).text
    assert "No turn differs." in same and "No file differs in the recorded edits." in same


def test_every_session_can_be_found_in_the_picker(
    client: httpx.Client, demo: DemoSummary, sides: tuple[str, str]
) -> None:
    before = len(list(demo.root.glob("projects/-home-ada-many*/*.jsonl")))  # those of a try before
    for number in range(before, before + 70):
        talk(seed=f"many{number}", cwd="/home/ada/many").user(f"chore {number:02}").reply("ok").write(demo.root)

    def found(**given: str) -> tuple[list[str], str]:
        page = unescape(client.get("/compare", params=given).text)
        return re.findall(r'href="/compare\?left=[^"]*&right=([^"]*)"', page), page

    last = f"chore {before + 69}"
    assert any(found(left=sides[0], q=last)[0] for _ in range(100)), "the list has not got the new sessions"
    ids, page = found(left=sides[0])
    assert len(ids) == 60 and re.search(r"60 of (\d+) sessions", page) and "<select" not in page
    assert sides[0] not in ids
    assert len(found(left=sides[0], limit="240")[0]) > 90
    assert len(found(left=sides[0], q="chore 4")[0]) >= 10 and found(left=sides[0], q="SHOP the large")[0] == [sides[1]]
    assert "No session matches." in found(left=sides[0], q="xyzzy")[1]


def test_branches_of_the_session_come_first_in_the_picker(client: httpx.Client, demo: DemoSummary) -> None:
    path = (
        talk(seed="pick")
        .user("a")
        .reply("b")
        .user("left")
        .reply("l")
        .rewind(to=2)
        .user("right")
        .reply("r")
        .write(demo.root)
    )
    page = unescape(client.get("/compare", params={"left": path.stem}).text)
    assert f'href="/compare?left={path.stem}&right={path.stem}%3A1"' in page or f"right={path.stem}:1" in page
    other = unescape(client.get("/compare", params={"left": f"{path.stem}:1"}).text)
    assert "branch 2, active" in other and "branch 1</span>" not in other


def test_a_comparison_is_chosen_by_keyboard_and_stacked_on_phones(served: Served, sides: tuple[str, str]) -> None:
    with browsing() as browser, visiting(browser, served, viewport={"width": 1280, "height": 800}) as (page, _):
        page.goto(f"{served.base}/compare?left={sides[0]}")
        page.get_by_role("searchbox").press_sequentially("large")
        expect(page.locator("#choices .session")).to_have_count(1)
        assert accessible(page) == []
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Side by side")
        left, right = page.locator("#left-turn-2").bounding_box(), page.locator("#right-turn-2").bounding_box()
        assert left and right and left["y"] == right["y"] and left["x"] < right["x"]
        assert accessible(page) == []
        page.set_viewport_size({"width": 390, "height": 844})
        left, right = page.locator("#left-turn-2").bounding_box(), page.locator("#right-turn-2").bounding_box()
        assert left and right and left["x"] == right["x"] and left["y"] < right["y"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
