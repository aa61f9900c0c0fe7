"""Write SVG shapes, and text whose width is known before a browser draws it.

Colours are classes: `chart.css` gives them the tokens of the page, and `standalone` embeds it with the colours of both
themes for a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from unicodedata import combining, east_asian_width

from clew.system.control_characters import clean_name
from clew.system.design_tokens import DARK, DATA, HEAT_DARK, HEAT_LIGHT, LIGHT, SANS

SIZE, TITLE_SIZE = 12, 16
LINE = 20  # height of a line of a legend
LONGEST, LONGEST_HINT = 40, 300  # characters of a name and of a hint
SERIES = 8  # colours; the last one is for "other"
# The widths of the characters from space to ~, in hundredths of the font size: the larger one of DejaVu and Liberation Sans.
_WIDTHS = (
    *(32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34),
    *(84, 84, 84, 56, 102, 68, 69, 72, 77, 67, 61, 78, 75, 29, 50, 67, 56, 86, 75, 79, 67, 79, 72, 67, 61, 73, 68, 99),
    *(69, 67, 69, 39, 34, 39, 84, 56, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52),
    *(39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84),
)


def text_width(text: str, size: float = SIZE) -> float:
    """Return the width of a text in pixels, or a little more."""
    return size * sum(map(_glyph_width, text)) / 100


def _glyph_width(letter: str) -> int:
    if " " <= letter <= "~":
        return _WIDTHS[ord(letter) - 32]
    return 0 if combining(letter) else 140 if east_asian_width(letter) in "WF" else 108


def fit(text: str, room: float, size: float = SIZE) -> str:
    """Return text that is valid in XML 1.0, shortened to the room."""
    name = clean_name(text[: 4 * LONGEST])
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    while text_width(short, size) > room and len(short) > 1:
        short = f"{short[:-2]}…"
    return short


def hint_text(text: str) -> str:
    name = clean_name(text[: 4 * LONGEST_HINT])
    return escape(name if len(name) <= LONGEST_HINT else f"{name[: LONGEST_HINT - 1]}…")


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class Canvas:
    """A drawing of a given width; `y` is how far down it is filled."""

    def __init__(self, title: str, width: int, *, has_heading: bool) -> None:
        self.title, self.width, self.y = title, width, 0.0
        self._parts: list[str] = []
        self._has_targets = False
        if has_heading:
            self.text(0, 18, fit(title, width / 1.1, TITLE_SIZE), kind="heading")
            self.y = 34

    def text(self, x: float, y: float, text: str, *, kind: str = "label", anchor: str = "start") -> None:
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{where}>{escape(text)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
        self._parts.append(f'<line class="{kind}" {ends}/>')

    def path(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        places = "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self._parts.append(f'<path class="{kind}" d="M{places}Z"/>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self._parts.append(rect(x, y, width, height, kind))

    def target(self, shapes: Sequence[str], hint: str, link: str = "") -> None:
        """Add shapes with their meaning, which a browser shows; with a link, one can go there."""
        label, body = hint_text(hint), "".join(shapes)
        if not link:
            self._parts.append(f"<g><title>{label}</title>{body}</g>")
            return
        tab = -1 if self._has_targets else 0
        self._has_targets = True
        head = f'<a href="{escape(link)}" tabindex="{tab}" aria-label="{label}">'
        self._parts.append(f"{head}<title>{label}</title>{body}</a>")

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Add a line, or several, with the names of classes of shapes."""
        x = 0.0
        for kind, name in entries:
            text = fit(name, self.width - 18)
            room = 18 + text_width(text)
            if x and x + room > self.width:
                x, self.y = 0.0, self.y + LINE
            shape = rect(x, self.y + 5, 10, 10, kind) if kind != "mark" else mark(x + 5, self.y + 5)
            self._parts.append(shape)
            self.text(x + 15, self.y + 14, text)
            x += room + 14
        self.y += LINE if entries else 0

    def svg(self, kind: str = "chart") -> str:
        role = "group" if self._has_targets else "img"
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" {self._size()} role="{role}" '
        return f'{head}aria-label="{hint_text(self.title)}">{"".join(self._parts)}</svg>'

    def _size(self, side: int = 0, top: int = 0) -> str:
        """Return the attributes for the size, with a margin."""
        width, height = self.width + 2 * side, number(self.y + 2 * top)
        return f'viewBox="{-side} {-top} {width} {height}" width="{width}" height="{height}"'

    def standalone(self, svg: str) -> str:
        """Return the finished drawing as a file of its own, with a margin, a ground, and the colours of both themes."""
        side, top = 20, 16
        head, _, body = svg.replace(self._size(), self._size(side, top), 1).partition(">")
        ground = rect(-side, -top, self.width + 2 * side, self.y + 2 * top, "ground")
        dark = f"@media (prefers-color-scheme: dark) {{ {_resolve(DARK, HEAT_DARK)} }}"
        return f"{head}><style>{_resolve(LIGHT, HEAT_LIGHT)} {dark}</style>{ground}{body}\n"


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    place = f'x="{number(x)}" y="{number(y)}" width="{max(0.4, width):.1f}" height="{max(0.4, height):.1f}"'
    return f'<rect class="{kind}" {place}/>'


def mark(x: float, y: float) -> str:
    """Return a small triangle with its tip at a point."""
    return f'<path class="mark" d="M{number(x)} {number(y)}l4 8h-8Z"/>'


def series_class(index: int, name: str = "") -> str:
    return f"s{SERIES if name.startswith('other') or index >= SERIES else index + 1}"


# -- in a file


def asset(name: str) -> str:
    """Return the text of `chart.css` or `chart.js`."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _resolve(colours: dict[str, str], heat: Sequence[str]) -> str:
    """Return the rules for shapes with the values of the tokens in place of their names."""
    rules = asset("chart.css").partition("/* page */")[0]
    values = {f"data-{index}": value for index, value in enumerate(DATA, 1)} | {"sans": SANS.replace('"', "'")}
    values |= {f"heat-{index}": value for index, value in enumerate(heat)} | colours
    text = re.sub(
        r"var\(--([\w-]+)\)", lambda found: values[found[1]], re.sub(r"/\*.*?\*/", "", rules, flags=re.DOTALL)
    )
    return " ".join(text.split())


def render_png(svg: str) -> bytes | None:
    """Return a file as PNG in the light theme, at twice its size; None on a machine without fonts.

    Raises ModuleNotFoundError without the extra `plot`.
    """
    from resvg_py import svg_to_bytes

    letter = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text y="15">M</text></svg>'
    if bytes(svg_to_bytes(svg_string=letter)) == bytes(svg_to_bytes(svg_string=letter.replace("M", ""))):
        return None
    light = re.sub(r"@media \(prefers-color-scheme: dark\) \{.*?\} \}", "", svg, count=1, flags=re.DOTALL)
    return bytes(svg_to_bytes(svg_string=light, zoom=2))
