"""Pictures of the console for the docs. `CLEW_UPDATE_PICTURES=1` updates them."""

from __future__ import annotations

import os
import re
from html import unescape
from io import StringIO
from pathlib import Path

import pytest
from pyte.screens import Char
from rich.console import Console as Recorder
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

from clew.api.mock.scripts import ScriptRule
from tests.console.terminal import ENTER, Console, use, world

DOCS = Path(__file__).parents[2] / "docs"
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_COLOURS = {"default": None, "brown": "yellow", "brightbrown": "bright_yellow"}
CART = "prices = [3, 4]\n\n\ndef total():\n    return sum(prices)\n"
ANSWER = """\
The total ignores what a line was **ordered** with. I change `total` so that it multiplies:

1. each line is a pair of *count* and *price*
2. an empty cart costs nothing
"""
RULES = [
    ScriptRule(
        prompt="total",
        steps=[
            [use("Read", file_path="cart.py")],
            [
                ANSWER,
                use(
                    "Edit",
                    file_path="cart.py",
                    old_string="    return sum(prices)",
                    new_string="    return sum(count * price for count, price in prices)",
                ),
            ],
            [use("Bash", command="python -m unittest", description="Run the tests")],
            "Done: the cart adds up.",
        ],
    )
]
ASKED = (
    "Why is the total wrong?",
    "Read 6 lines",
    "2. an empty cart",
    "5 -",
    "Make this edit?",
    "cart.py would be written",
    "1. Yes",
    "3. No, and",
)


def drawn(console: Console) -> str:
    """The screen as a picture."""
    screen = console.picture
    recorder = Recorder(record=True, width=screen.columns, file=StringIO(), force_terminal=True, legacy_windows=False)
    for y in range(screen.lines):
        line = Text()
        for x in range(screen.columns):
            cell = screen.buffer[y][x]
            line.append(cell.data, _style(cell))
        recorder.print(line, end="\n", soft_wrap=True)
    svg = recorder.export_svg(title="clew chat", theme=MONOKAI, unique_id="clew")
    return "\n".join(line.rstrip() for line in _FONTS.sub("", svg).splitlines()) + "\n"


def _style(cell: Char) -> Style:
    return Style(
        color=_colour(cell.fg),
        bgcolor=_colour(cell.bg),
        bold=cell.bold,
        italic=cell.italics,
        underline=cell.underscore,
        strike=cell.strikethrough,
        reverse=cell.reverse,
    )


def _colour(colour: str) -> str | None:
    name = _COLOURS.get(colour, colour)
    if name and name.startswith("bright") and not name.startswith("bright_"):
        name = f"bright_{name[6:]}"
    if name and re.fullmatch("[0-9a-f]{6}", name):
        name = f"#{name}"
    return name


def words(svg: str) -> str:
    found = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return unescape("".join(found)).replace("\xa0", "").replace(" ", "").replace("\n", "")


def kept(name: str, svg: str, seen: tuple[str, ...]) -> None:
    """Hold a picture and the one in the docs against what is to be seen."""
    path = DOCS / name
    if os.environ.get("CLEW_UPDATE_PICTURES"):
        path.write_text(svg, encoding="utf-8")
    if not path.exists():
        pytest.skip("the picture has not been made")
    for text in seen:
        assert text.replace(" ", "") in words(svg), text
        assert text.replace(" ", "") in words(path.read_text(encoding="utf-8")), f"docs/{name} is out of date: {text}"


def test_the_pictures_show_the_console(tmp_path: Path) -> None:
    with world(tmp_path, RULES) as made:
        (made.project / "cart.py").write_text(CART)
        with made.console(columns=96, rows=28) as console:
            console.idle()
            console.say("Why is the total wrong? Mend it.")
            console.see(*ASKED)
            kept("chat.svg", drawn(console), ASKED)
            console.answer(1)
            console.see("Run this command?")
            console.answer(3)
            console.see("›")
            console.type("use pytest", ENTER)
            console.see("● Done: the cart adds up.")
            console.idle()
            console.type("/co")
            console.see("/compact", "/context", "/cost")
            kept(
                "chat-commands.svg",
                drawn(console),
                ("/compact", "replace the conversation by a summary", "says: use pytest"),
            )
