"""The look of what is drawn: its styles, and a question with its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.styles import Style

from clew.console.complete import SHOWN, Offer
from clew.console.menu import Menu
from clew.view.plain import clean, columns, one_line

STYLE = Style.from_dict(
    {
        "rule": "ansibrightblack",
        "mark": "bold ansimagenta",
        "mark.shell": "bold ansired",
        "hint": "ansibrightblack",
        "queued": "ansibrightblack italic",
        "offer": "ansibrightblack",
        "offer.chosen": "bold ansicyan",
        "menu.title": "bold",
        "menu.chosen": "bold ansicyan",
        "menu.about": "ansibrightblack",
        "status": "ansibrightblack",
        "status.mode": "ansicyan",
        "status.danger": "bold ansired",
    }
)


def menu_lines(menu: Menu, width: int) -> StyleAndTextTuples:
    """A question and its answers."""
    made: StyleAndTextTuples = [("", "\n"), ("class:menu.title", f" {clean(menu.title)}\n")]
    if menu.about:
        made.append(("class:menu.about", f" {one_line(menu.about, width - 2)}\n"))
    if menu.is_sought:
        made.append(("", f" Search: {menu.sought}▏\n"))
    window = menu.window
    for index in window:
        option = menu.options[index]
        is_here = index == menu.at
        style = "class:menu.chosen" if is_here else ""
        mark = ("[x] " if index in menu.chosen else "[ ] ") if menu.is_many and not option.needs_text else ""
        number = "" if menu.is_sought else f"{index + 1}. "
        label = one_line(option.label, max(width - 12, 10))
        made.append((style, f" {'❯' if is_here else ' '} {number}{mark}{label}"))
        if option.about and width >= 60:
            made.append(("class:menu.about", f"  {one_line(option.about, max(width - len(label) - 14, 8))}"))
        made.append(("", "\n"))
    if len(menu.shown) > len(window):
        made.append(("class:hint", f"   {len(menu.shown)} in all\n"))
    if not window:
        made.append(("class:hint", "   nothing fits\n"))
    return made[:-1]


def offer_lines(offers: Sequence[Offer], chosen: int, width: int) -> StyleAndTextTuples:
    """What could be meant, around the one that is chosen."""
    made: StyleAndTextTuples = []
    first = max(0, min(chosen - SHOWN // 2, len(offers) - SHOWN))
    shown = offers[first : first + SHOWN]
    room = min(max((columns(offer.text) for offer in shown), default=0) + 2, max(width - 4, 8))
    for index, offer in enumerate(shown, first):
        style = "class:offer.chosen" if index == chosen else "class:offer"
        name = one_line(offer.text, room)
        about = one_line(offer.about, width - room - 4) if offer.about and width - room > 12 else ""
        gap = " " * (room - columns(name))
        made.append((style, f"{chr(10) if index > first else ''}  {name}{gap}{about}"))
    return made


def rule() -> Window:
    return Window(height=1, char="─", style="class:rule")


def lines(text: Callable[[], StyleAndTextTuples], wraps: bool = False, takes_keys: bool = False) -> Window:
    control = FormattedTextControl(text, focusable=takes_keys, show_cursor=False)
    return Window(control, dont_extend_height=True, wrap_lines=wraps, height=Dimension(min=1))
