"""What the tests of the browser share: a tree to browse, and a way to drive the screen and read it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from clew.browse.search_thread import SearchLocation
from clew.tui.browser_app import Browser
from clew.tui.external_programs import ExternalPrograms, ResumeCommand
from clew.tui.reader_screen import ReaderScreen

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
Steps = Callable[[Browser, Pilot[ResumeCommand]], Awaitable[None]]


def drive(
    claude: Path, cache: Path, steps: Steps, size: tuple[int, int] = (80, 24), outside: ExternalPrograms | None = None
) -> Browser:
    """Run the browser without a terminal, with the clock standing still, through some steps."""
    app = Browser(SearchLocation(str(claude), str(cache)), programs=outside, clock=lambda: NOW)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await steps(app, pilot)

    asyncio.run(run())
    return app


async def until(pilot: Pilot[ResumeCommand], holds: Callable[[], object]) -> None:
    """Wait for what a thread is about to bring."""
    for _ in range(500):
        await pilot.pause()
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"it did not come about; the screen is\n{screen(pilot.app)}")


async def settled(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
    """Until the index is built and the list is that of the query."""
    await until(pilot, lambda: app.searcher.is_built and app.home.answered == app.home.number > 1)
    await pilot.pause()


async def search(app: Browser, pilot: Pilot[ResumeCommand], text: str) -> None:
    number = app.home.number
    await pilot.press(*("space" if c == " " else c for c in text))
    await until(pilot, lambda: app.home.answered == app.home.number > number and app.home.query_text == text)
    await asyncio.sleep(0.1)  # the pause after the last key
    await until(pilot, lambda: app.home.answered == app.home.number)
    await pilot.pause()


async def opened(app: Browser, pilot: Pilot[ResumeCommand]) -> ReaderScreen:
    """The reader, once all rows are there."""
    await until(pilot, lambda: isinstance(app.screen, ReaderScreen) and app.screen.view.rows)
    reader = app.screen
    assert isinstance(reader, ReaderScreen)
    await until(pilot, lambda: "…" not in said(reader))
    await pilot.pause()
    return reader


def said(reader: ReaderScreen) -> str:
    """The line below the rows."""
    from textual.widgets import Static

    return str(reader.query_one("#state", Static).content)


def lines(app: object) -> list[str]:
    """What is on the screen, a text for each line."""
    assert isinstance(app, Browser)
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def screen(app: object) -> str:
    return "\n".join(line.rstrip() for line in lines(app))
