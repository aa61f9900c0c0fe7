"""Styles: text is readable on every background, dark or light."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prompt_toolkit.styles import default_ui_style, merge_styles
from rich.style import Style

from clew.console import styles
from clew.console.colours import TRANSCRIPT_STYLES

# The foreground and background that terminals begin with.
GROUNDS = {
    "xterm": ("#000000", "#ffffff"),
    "reverse xterm": ("#ffffff", "#000000"),
    "VGA": ("#aaaaaa", "#000000"),
    "Windows Terminal": ("#cccccc", "#0c0c0c"),
    "macOS Basic": ("#000000", "#ffffff"),
    "macOS Pro": ("#f2f2f2", "#0d0d0d"),
    "GNOME": ("#d0cfcc", "#171421"),
    "Ubuntu": ("#ffffff", "#300a24"),
    "VS Code dark": ("#cccccc", "#1e1e1e"),
    "VS Code light": ("#333333", "#ffffff"),
    "iTerm": ("#c7c7c7", "#000000"),
    "Tango light": ("#2e3436", "#eeeeec"),
    "Gruvbox": ("#ebdbb2", "#282828"),
}
TEXT, SIGN = 4.5, 3.0  # the least contrast, as WCAG has it, for text and for signs
SIGNS = ("sign",)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", styles.STYLES)
def test_every_style_of_the_screen_is_readable(name: str, ground: str) -> None:
    """As it is drawn: with what prompt_toolkit styles by itself under the same name."""
    drawn = merge_styles([default_ui_style(), styles.STYLE]).get_attrs_for_style_str(f"class:{name}")
    for colour in (drawn.color, drawn.bgcolor):
        assert not colour or re.fullmatch("[0-9a-f]{6}", colour), f"{colour} is what the terminal makes of it"
    assert not drawn.hidden
    fore, back = GROUNDS[ground]
    assert contrast(f"#{drawn.color}" if drawn.color else fore, f"#{drawn.bgcolor}" if drawn.bgcolor else back) >= TEXT


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", TRANSCRIPT_STYLES)
def test_every_style_of_the_transcript_is_readable(name: str, ground: str) -> None:
    style = Style.parse(TRANSCRIPT_STYLES[name])
    assert not style.dim
    fore, back = GROUNDS[ground]
    if style.color is not None:
        fore = style.color.name
    if style.bgcolor is not None:
        back = style.bgcolor.name
    assert contrast(fore, back) >= (SIGN if name.partition(".")[0] in SIGNS else TEXT)


def test_no_other_styles_are_used() -> None:
    known = {*TRANSCRIPT_STYLES, ""}
    folder = Path(styles.__file__).parent
    for path in (folder / "render.py", folder / "transcript.py"):
        for style in re.findall(
            r'(?:styled|_text|_marked)\(.*, "([a-z][a-z_. ]*)"\)', path.read_text(encoding="utf-8")
        ):
            assert style in known, f"{path.name}: {style}"
    for path in folder.glob("*.py"):
        for name in re.findall(r'"class:([a-z.]+)"', path.read_text(encoding="utf-8")):
            assert name in styles.STYLES, f"{path.name}: {name}"


def test_the_reason_of_a_question_was_grey_on_grey() -> None:
    """The ground of prompt_toolkit's own menus reaches every class whose name begins with theirs."""
    drawn = merge_styles([default_ui_style(), styles.STYLE])
    assert drawn.get_attrs_for_style_str("class:menu.about").bgcolor == "888888"
    for name in styles.STYLES:
        assert drawn.get_attrs_for_style_str(f"class:{name}").bgcolor != "888888"
