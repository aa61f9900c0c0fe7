"""The picture of the browser for the docs. `CLEW_UPDATE_PICTURES=1` writes it anew."""

from __future__ import annotations

import os
import re
from html import unescape
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clew.demo.demo_tree import DemoSummary
from clew.tui.browser_app import Browser
from clew.tui.external_programs import ResumeCommand
from tests.tui.pilot import drive, screen, search, until

PICTURE = Path(__file__).parents[2] / "docs" / "tui.svg"
SEEN = ("clew ❯ valve", "best first", "▌", "Fix the override.", "drip", "Where could a valve stay open", "Open", "Help")


def texts(svg: str) -> str:
    """The words in a picture."""
    found = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return unescape("\n".join(found)).replace("\xa0", " ")


def taken(demo: DemoSummary, cache: Path) -> str:
    made: list[str] = []

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await search(app, pilot, "valve")
        await until(pilot, lambda: "Where could a valve stay open" in screen(app))
        await pilot.pause()
        made.append(app.export_screenshot(title="clew", simplify=True))

    drive(demo.root, cache, steps, (120, 30))
    return re.sub(r"terminal-\d+-", "clew-", made[0])


def test_the_picture_shows_the_browser(demo: DemoSummary, cache: Path) -> None:
    svg = taken(demo, cache)
    words = texts(svg).replace("\n", "")
    for text in SEEN:
        assert text.replace(" ", "") in words.replace(" ", ""), text
    if os.environ.get("CLEW_UPDATE_PICTURES"):
        PICTURE.write_text(svg, encoding="utf-8")
    if not PICTURE.exists():
        pytest.skip("the picture has not been made")
    kept = texts(PICTURE.read_text(encoding="utf-8")).replace("\n", "").replace(" ", "")
    for text in SEEN:
        assert text.replace(" ", "") in kept, f"docs/tui.svg is out of date: {text}"
