"""Colours on a terminal: when there are any, and that they can be read on its ground."""

from __future__ import annotations

import pytest

from clew.system.design_tokens import ANY_GROUND, DARK, LIGHT
from clew.system.environment import terminal_colours, terminal_ground
from clew.system.terminal_style import TerminalStyle, nearest_of_256
from tests.console.test_style import GROUNDS, contrast

TEXTS = [name for name in ANY_GROUND if name in DARK]
LEVELS = (0, 95, 135, 175, 215, 255)


def colour_256(number: int) -> str:
    """The colour that xterm has for a number from 16 to 255."""
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    return "#" + "".join(f"{LEVELS[(number - 16) // step % 6]:02x}" for step in (36, 6, 1))


def parts(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def shown(colour: str, colours: int) -> str:
    return colour if colours > 256 else colour_256(nearest_of_256(*parts(colour)))


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "WT_SESSION", "CLEW_THEME", "COLORFGBG", "TERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("colours", [256, 1 << 24])
def test_every_colour_of_text_can_be_read_on_the_grounds_it_is_for(colours: int) -> None:
    least = 4.5 if colours > 256 else 3.9  # the nearest of 256 may be a little lighter
    for _, ground in GROUNDS.values():
        is_dark = contrast(ground, "#ffffff") > contrast(ground, "#000000")
        known = DARK if is_dark else LIGHT
        for name in TEXTS:
            assert contrast(shown(known[name], colours), ground) >= least, (name, ground)
            assert contrast(shown(ANY_GROUND[name], colours), ground) >= 3, (name, ground)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_a_prompt_can_be_read_on_its_own_ground(theme: dict[str, str]) -> None:
    assert contrast(shown(theme["text"], 256), shown(theme["prompt"], 256)) >= 7
    assert contrast(shown(theme["accent"], 256), shown(theme["prompt"], 256)) >= 4.5


def test_the_nearest_of_256_colours_is_the_nearest() -> None:
    for colour in (*DARK.values(), *LIGHT.values(), *ANY_GROUND.values(), "#000000", "#ffffff", "#0a0b0c"):

        def far(number: int, wanted: tuple[int, int, int] = parts(colour)) -> int:
            return sum((a - b) ** 2 for a, b in zip(parts(colour_256(number)), wanted, strict=True))

        assert far(nearest_of_256(*parts(colour))) == min(map(far, range(16, 256))), colour


@pytest.mark.parametrize(
    ("given", "is_terminal", "colours"),
    [
        ({"TERM": "xterm-256color"}, True, 256),
        ({"TERM": "xterm-256color"}, False, 0),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, True, 1 << 24),
        ({"TERM": "xterm-direct"}, True, 1 << 24),
        ({"TERM": "xterm"}, True, 16),
        ({"TERM": "dumb"}, True, 0),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True, 0),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, True, 256),
        ({"TERM": "xterm-256color", "NO_COLOR": "1", "FORCE_COLOR": "1"}, True, 0),
        ({"TERM": "xterm-256color", "FORCE_COLOR": "1"}, False, 256),
        ({"TERM": "xterm-256color", "FORCE_COLOR": "0"}, True, 0),
        ({"TERM": "xterm-256color", "FORCE_COLOR": ""}, False, 0),
    ],
)
def test_how_many_colours(
    given: dict[str, str], is_terminal: bool, colours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert terminal_colours(is_terminal) == colours


@pytest.mark.parametrize(
    ("given", "ground"),
    [
        ({}, ""),
        ({"COLORFGBG": "15;0"}, "dark"),
        ({"COLORFGBG": "0;15"}, "light"),
        ({"COLORFGBG": "0;default;7"}, "light"),
        ({"COLORFGBG": "12;8"}, "dark"),
        ({"COLORFGBG": "15;default"}, ""),
        ({"COLORFGBG": "15;0", "CLEW_THEME": "light"}, "light"),
        ({"COLORFGBG": "15;0", "CLEW_THEME": "auto"}, "dark"),
    ],
)
def test_the_ground_of_the_terminal(given: dict[str, str], ground: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert terminal_ground() == ground


def test_a_look_is_attributes_and_tokens() -> None:
    assert TerminalStyle(0)("text", "bold link") == "text"
    assert TerminalStyle(16)("text", "bold link") == "\x1b[1;36mtext\x1b[0m"
    assert TerminalStyle(256)("text", "link") == "\x1b[38;5;31mtext\x1b[0m"
    assert TerminalStyle(1 << 24, "dark")("text", "link on prompt") == "\x1b[38;2;138;180;255;48;2;40;35;32mtext\x1b[0m"
    assert TerminalStyle(256)("text", "on prompt") == "text"  # the ground is not known: no other is put there
    assert TerminalStyle(256).rich_look("bold text on prompt") == "bold"
    assert TerminalStyle(16, "dark").rich_look("quiet") == "dim"
