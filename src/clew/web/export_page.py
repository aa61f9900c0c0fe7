"""Sharing: a session as a file to keep, and its charts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from clew.errors import NotFound
from clew.facts.prices import MICRO, dollars, load
from clew.report.context_history import context
from clew.report.cost_by_turn import by_turn
from clew.report.plots import context_picture
from clew.report.svg import Series, bars
from clew.report.text_table import short
from clew.version import JSON_SCHEMA
from clew.view.header import NO_PROMPT, describe_session
from clew.view.html_page import render_page
from clew.view.mask_rows import mask_rows
from clew.view.row_html import fragments
from clew.view.row_markdown import markdown_document
from clew.view.rows import Row, ViewOptions, preamble_rows, rows
from clew.view.turn_json import session_document
from clew.web.app_state import AppState
from clew.web.reader_page import PageTarget, place_of
from clew.wire.json_codec import encode

FORMATS = {"html": "text/html", "md": "text/markdown", "json": "application/x-ndjson"}
LINES = 60  # of a result in an export
_PROMPT = 80


class ExportPage:
    def __init__(self, desk: AppState) -> None:
        self._desk = desk

    async def export(self, request: Request) -> Response:
        """All of a session in one file."""
        place = await place_of(self._desk, request)
        kind: str = request.path_params["format"]
        if kind not in FORMATS:
            raise NotFound(kind, "format", list(FORMATS))
        made = {"html": self._html, "md": self._markdown, "json": self._json}[kind](place)
        name = {"Content-Disposition": f'attachment; filename="{_plain(place.reading.session.id)}.{kind}"'}
        return StreamingResponse(_encoded(made), media_type=f"{FORMATS[kind]}; charset=utf-8", headers=name)

    async def charts(self, request: Request) -> Response:
        """How the context grew and what each turn cost, as pictures and as a table."""
        place = await place_of(self._desk, request)
        values = await asyncio.to_thread(self._charts, place)
        return self._desk.renderer.page(request, "charts", f"Charts of {values['name']}", **values)

    def _rows(self, place: PageTarget) -> Iterator[Row]:
        reading, options = place.reading, ViewOptions(lines=LINES, details=True, thinking=place.wish.thinking)
        turns = [turn for turn in reading.turns if turn.number]

        def found() -> Iterator[Row]:
            if reading.branch is None:
                yield from preamble_rows(reading.session, options)
            yield from rows(reading.session, turns, options, reading.root.agents_for)

        return found() if self._desk.is_revealed else mask_rows(found())

    def _html(self, place: PageTarget) -> Iterator[str]:
        turns = [(turn.number, self._desk.words(turn.text, _PROMPT)) for turn in place.reading.turns if turn.number]
        return render_page(
            describe_session(place.reading.session, self._desk.tally), fragments(self._rows(place)), turns
        )

    def _markdown(self, place: PageTarget) -> Iterator[str]:
        return markdown_document(describe_session(place.reading.session, self._desk.tally), self._rows(place))

    def _json(self, place: PageTarget) -> Iterator[str]:
        for value in session_document(place.reading.session, not self._desk.is_revealed):
            yield encode({"clew": JSON_SCHEMA, **value}).decode("utf-8", "replace") + "\n"

    def _charts(self, place: PageTarget) -> dict[str, Any]:
        session, prices = place.reading.session, load()
        points, table = context(session), by_turn(session, prices)
        by_number = {point.number: point for point in points}
        texts = {turn.number: self._desk.words(turn.text, _PROMPT) for turn in session.turns}
        lines = []
        for row in table.rows:
            first = row.name.split()[0] if row.name.split() else ""
            number = int(first) if first.isdigit() else 0
            size = by_number[number].tokens if number in by_number else 0
            lines.append({"number": number, "text": texts.get(number, row.name), "cost": row.cost, "tokens": size})
        names = [str(line["number"] or "other") for line in lines]
        cost = Series("cost", [float(row.cost) / MICRO**2 for row in table.rows])
        return {
            "name": self._desk.words(session.title) or NO_PROMPT,
            "base": place.base,
            "context": Markup(_described(context_picture(points), "context")) if points else "",
            "cost": Markup(_described(bars("Cost by turn", names, [cost], _money), "cost")),
            "lines": lines,
            "total": dollars(table.total.cost),
            "dollars": dollars,
            "short": short,
            "prices": prices.date,
            "unpriced": ", ".join(self._desk.words(name) for name in table.total.unpriced),
        }


def _money(value: float) -> str:
    return dollars(round(value * MICRO**2))


def _described(svg: str, kind: str) -> str:
    """A picture that a screen reader takes for one; the table below it says the same in words."""
    return svg.replace("<svg ", f'<svg role="img" aria-labelledby="{kind}-title" ', 1)


def _plain(name: str) -> str:
    return "".join(letter for letter in name if letter.isalnum() or letter in "-_") or "session"


def _encoded(made: Iterator[str]) -> Iterator[bytes]:
    return (text.encode("utf-8", "replace") for text in made)
