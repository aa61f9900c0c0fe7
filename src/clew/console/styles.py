"""Styles of the screen, and the lines of its search menu and completions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.styles import Style

from clew.console.menu import Menu
from clew.console.prompt_completion import MAX_VISIBLE, Completion
from clew.view.sanitize import clean, columns, one_line

# Text keeps the foreground of the terminal, or sets a background too: no single colour is readable on every background. The
# names must not begin with one that prompt_toolkit styles by itself, such as "menu".
DANGER = "bold #ffffff bg:#b00020"
STYLES = {
    "rule": "",
    "mark": "bold",
    "mark.shell": DANGER,
    "hint": "",
    "queued": "italic",
    "task": "",
    "offer": "",
    "offer.chosen": "bold reverse",
    "question.rule": "",
    "question.title": "bold",
    "question.about": "",
    "question.name": "bold",
    "question.chosen": "bold reverse",
    "question.added": "#ffffff bg:#1b5e20",
    "question.removed": "#ffffff bg:#8b1a1a",
    "question.note": "italic",
    "question.more": "bold",
    "question.draft": "italic",
    "status": "",
    "status.mode": "bold",
    "status.danger": DANGER,
}
STYLE = Style.from_dict(STYLES)


def search_lines(menu: Menu, width: int) -> StyleAndTextTuples:
    """Return the lines of a menu whose options can be searched."""
    rule = "─" * width
    fragments: StyleAndTextTuples = [
        ("class:question.rule", f"{rule}\n"),
        ("class:question.title", f" {clean(menu.title)}\n"),
    ]
    if menu.about:
        fragments.append(("class:question.about", f" {one_line(menu.about, width - 2)}\n"))
    fragments.append(("", f" Search: {menu.sought}▏\n"))
    window = menu.window
    for index in window:
        option = menu.options[index]
        is_here = index == menu.at
        label = one_line(option.label, max(width - 12, 10))
        fragments.append(("class:question.chosen" if is_here else "", f" {'❯' if is_here else ' '} {label}"))
        if option.about and width >= 60:
            fragments.append(("class:question.about", f"  {one_line(option.about, max(width - len(label) - 14, 8))}"))
        fragments.append(("", "\n"))
    if len(menu.shown) > len(window):
        fragments.append(("class:hint", f"   {len(menu.shown)} options\n"))
    if not window:
        fragments.append(("class:hint", "   no matches\n"))
    return fragments[:-1]


def completion_lines(offers: Sequence[Completion], chosen: int, width: int) -> StyleAndTextTuples:
    """Return the completions around the selected one."""
    fragments: StyleAndTextTuples = []
    first = max(0, min(chosen - MAX_VISIBLE // 2, len(offers) - MAX_VISIBLE))
    shown = offers[first : first + MAX_VISIBLE]
    names = [f"{offer.text} {offer.hint}".rstrip() for offer in shown]
    room = min(max(map(columns, names), default=0) + 2, max(width - 4, 8))
    for index, offer in enumerate(shown, first):
        style = "class:offer.chosen" if index == chosen else "class:offer"
        name = one_line(names[index - first], room)
        about = one_line(offer.about, width - room - 4) if offer.about and width - room > 12 else ""
        gap = " " * (room - columns(name))
        fragments.append((style, f"{chr(10) if index > first else ''}  {name}{gap}{about}"))
    if len(offers) > len(shown):
        fragments.append(("class:hint", f"\n  {chosen + 1} of {len(offers)} (↑↓)"))
    return fragments


def rule_window() -> Window:
    return Window(height=1, char="─", style="class:rule")


def text_window(text: Callable[[], StyleAndTextTuples], wraps: bool = False, takes_keys: bool = False) -> Window:
    control = FormattedTextControl(text, focusable=takes_keys, show_cursor=False)
    return Window(control, dont_extend_height=True, wrap_lines=wraps, height=Dimension(min=1))
