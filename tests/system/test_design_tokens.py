"""The colours have enough contrast, and those of data differ for people with colour blindness."""

from __future__ import annotations

from itertools import combinations
from math import dist

import pytest

from clew.system.design_tokens import DARK, DATA, HEAT_DARK, HEAT_LIGHT, LIGHT, token_css

TEXTS = ("text", "quiet", "accent", "link", "good", "warn", "bad")
GROUNDS = ("ground", "raised", "sunken", "prompt", "accent-ground")
CODE = ("code-keyword", "code-string", "code-number", "code-comment", "code-name")
# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
BLINDNESS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def linear(colour: str) -> tuple[float, float, float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: tuple[float, float, float]) -> tuple[float, float, float]:
    red, green, blue = (min(1.0, max(0.0, part)) for part in rgb)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_colour_can_be_read_on_every_ground(theme: dict[str, str]) -> None:
    pairs = [(text, ground, 4.5) for text in TEXTS for ground in GROUNDS]
    pairs += [(text, ground, 4.5) for text in CODE for ground in ("ground", "sunken", "raised", "added", "removed")]
    pairs += [("text", ground, 4.5) for ground in ("added", "removed", "added-word", "removed-word", "mark")]
    pairs += [("edge", ground, 3.0) for ground in ("ground", "raised", "sunken")]
    weak = [(text, ground) for text, ground, least in pairs if contrast(theme[text], theme[ground]) < least]
    assert weak == []


def test_both_themes_have_the_same_tokens() -> None:
    assert list(LIGHT) == list(DARK)
    assert len(HEAT_LIGHT) == len(HEAT_DARK)


@pytest.mark.parametrize("kind", BLINDNESS)
def test_data_colours_differ_with_colour_blindness(kind: str) -> None:
    seen = []
    for colour in DATA[:7]:
        rgb = linear(colour)
        red, green, blue = (sum(a * b for a, b in zip(row, rgb, strict=True)) for row in BLINDNESS[kind])
        seen.append(lab((red, green, blue)))
    assert min(dist(one, other) for one, other in combinations(seen, 2)) > 8


def test_heat_becomes_stronger_step_by_step() -> None:
    assert [luminance(c) for c in HEAT_LIGHT] == sorted((luminance(c) for c in HEAT_LIGHT), reverse=True)
    assert [luminance(c) for c in HEAT_DARK] == sorted(luminance(c) for c in HEAT_DARK)


def test_the_style_sheet_names_every_token_for_both_themes() -> None:
    css = token_css()
    assert all(f"--{name}: light-dark({LIGHT[name]}, {DARK[name]});" in css for name in LIGHT)
    assert '[data-theme="dark"]' in css
