"""A chart with its numbers: as a file, or as part of a page with a drawing for wide and one for narrow screens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from clew.report.charts.canvas import Canvas, asset, hint_text
from clew.report.charts.columns import NARROW
from clew.system.design_tokens import token_css

WIDE, SMALL = 960, 600


class FigureRow(NamedTuple):
    """A row of the table below a chart; the name may be a link."""

    name: str
    values: tuple[str, ...]
    link: str = ""


class Figure(NamedTuple):
    """A title, how to draw it, and the same numbers as a table."""

    title: str
    draw: Callable[[Canvas], str]
    head: tuple[str, ...]
    rows: Sequence[FigureRow]
    width: int = WIDE

    def svg(self) -> str:
        """Return the chart as a file."""
        canvas = Canvas(self.title, self.width, has_heading=True)
        return canvas.standalone(self.draw(canvas))

    def html(self, *, has_table: bool = True) -> str:
        """Return the chart as part of a page, which has the title as a heading, and maybe the table."""
        drawings = "".join(self._drawing(width, kind) for width, kind in ((self.width, "wide"), (NARROW, "narrow")))
        size = "plot small" if self.width <= SMALL else "plot"
        return f'<figure class="{size}">{drawings}{self._table() if has_table else ""}</figure>'

    def _drawing(self, width: int, kind: str) -> str:
        drawing = self.draw(Canvas(self.title, width, has_heading=False))
        return drawing.replace('class="chart"', f'class="chart {kind}"', 1)

    def _table(self) -> str:
        head = "".join(f'<th scope="col">{hint_text(name)}</th>' for name in self.head)
        body = "".join(
            f'<tr><th scope="row">{_link(row.name, row.link)}</th>{"".join(map(_cell, row.values))}</tr>'
            for row in self.rows
        )
        label = hint_text(f"{self.title}: the numbers")
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        box = f'<div class="numbers" tabindex="0" role="region" aria-label="{label}">{table}</div>'
        return f"<details><summary>Numbers</summary>{box}</details>"


def _cell(text: str) -> str:
    return f"<td>{hint_text(text)}</td>"


def _link(name: str, link: str) -> str:
    text = hint_text(name)
    return f'<a href="{escape(link)}">{text}</a>' if link else text


def html_page(title: str, figures: Sequence[Figure]) -> str:
    """Return a self-contained HTML page with charts."""
    body = "".join(f"<section><h2>{hint_text(each.title)}</h2>{each.html()}</section>" for each in figures)
    rules = "body { font-family: var(--sans); color: var(--text); background: var(--ground); max-width: 62rem; "
    rules += "margin: 2rem auto; padding: 0 1rem; } h1 { font-size: var(--size-28); } h2 { font-size: var(--size-20); }"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{hint_text(title)}</title>'
    style = f"<style>{token_css()}{asset('chart.css')}{rules}</style>"
    script = f"<script>{asset('chart.js')}</script>"
    page = f"<body><main><h1>{hint_text(title)}</h1>{body}</main>{script}</body>"
    return f'<!doctype html><html lang="en"><head>{head}{style}</head>{page}</html>\n'
