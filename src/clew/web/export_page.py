"""Export a session as one file, and draw its charts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from clew.errors import NotFound
from clew.facts.prices import MICRO, dollars, load
from clew.report.context_history import context_points
from clew.report.cost_by_turn import cost_by_turn
from clew.report.plots import context_chart
from clew.report.svg import Series, bar_chart
from clew.report.text_table import short_number
from clew.version import JSON_SCHEMA
from clew.view.header import NO_PROMPT, describe_session
from clew.view.html_page import render_page
from clew.view.mask_rows import mask_rows
from clew.view.row_html import fragments
from clew.view.row_markdown import markdown_document
from clew.view.row_types import Row
from clew.view.rows import ViewOptions, preamble_rows, rows
from clew.view.turn_json import session_document
from clew.web.app_state import AppState
from clew.web.reader_page import PageTarget, page_target
from clew.wire.json_codec import encode

FORMATS = {"html": "text/html", "md": "text/markdown", "json": "application/x-ndjson"}
LINES = 60  # lines of a result in an export
_PROMPT = 80


class ExportPage:
    def __init__(self, state: AppState) -> None:
        self._state = state

    async def export(self, request: Request) -> Response:
        """Send a complete session as one file."""
        target = await page_target(self._state, request)
        kind: str = request.path_params["format"]
        if kind not in FORMATS:
            raise NotFound(kind, "format", list(FORMATS))
        chunks = {"html": self._html, "md": self._markdown, "json": self._json}[kind](target)
        name = {"Content-Disposition": f'attachment; filename="{_file_stem(target.reading.session.id)}.{kind}"'}
        return StreamingResponse(_encode(chunks), media_type=f"{FORMATS[kind]}; charset=utf-8", headers=name)

    async def charts(self, request: Request) -> Response:
        """Show the context size and the cost of each turn, as charts and as a table."""
        target = await page_target(self._state, request)
        values = await asyncio.to_thread(self._charts, target)
        return self._state.renderer.page(request, "charts", f"Charts of {values['name']}", **values)

    def _rows(self, target: PageTarget) -> Iterator[Row]:
        reading, options = target.reading, ViewOptions(lines=LINES, details=True, thinking=target.choice.thinking)
        turns = [turn for turn in reading.turns if turn.number]

        def all_rows() -> Iterator[Row]:
            if reading.branch is None:
                yield from preamble_rows(reading.session, options)
            yield from rows(reading.session, turns, options, reading.root.agents_for)

        return all_rows() if self._state.is_revealed else mask_rows(all_rows())

    def _html(self, target: PageTarget) -> Iterator[str]:
        turns = [
            (turn.number, self._state.clean_text(turn.text, _PROMPT)) for turn in target.reading.turns if turn.number
        ]
        return render_page(
            describe_session(target.reading.session, self._state.mask_count), fragments(self._rows(target)), turns
        )

    def _markdown(self, target: PageTarget) -> Iterator[str]:
        return markdown_document(describe_session(target.reading.session, self._state.mask_count), self._rows(target))

    def _json(self, target: PageTarget) -> Iterator[str]:
        for value in session_document(target.reading.session, not self._state.is_revealed):
            yield encode({"clew": JSON_SCHEMA, **value}).decode("utf-8", "replace") + "\n"

    def _charts(self, target: PageTarget) -> dict[str, Any]:
        session, prices = target.reading.session, load()
        points, table = context_points(session), cost_by_turn(session, prices)
        by_number = {point.number: point for point in points}
        texts = {turn.number: self._state.clean_text(turn.text, _PROMPT) for turn in session.turns}
        lines = []
        for row in table.rows:
            first = row.name.split()[0] if row.name.split() else ""
            number = int(first) if first.isdigit() else 0
            size = by_number[number].tokens if number in by_number else 0
            lines.append({"number": number, "text": texts.get(number, row.name), "cost": row.cost, "tokens": size})
        names = [str(line["number"] or "other") for line in lines]
        cost = Series("cost", [float(row.cost) / MICRO**2 for row in table.rows])
        return {
            "name": self._state.clean_text(session.title) or NO_PROMPT,
            "base": target.base,
            "context": Markup(_with_label(context_chart(points), "context")) if points else "",
            "cost": Markup(_with_label(bar_chart("Cost by turn", names, [cost], _format_dollars), "cost")),
            "lines": lines,
            "total": dollars(table.total.cost),
            "dollars": dollars,
            "short": short_number,
            "prices": prices.date,
            "unpriced": ", ".join(self._state.clean_text(name) for name in table.total.unpriced),
        }


def _format_dollars(value: float) -> str:
    return dollars(round(value * MICRO**2))


def _with_label(svg: str, kind: str) -> str:
    """Make a chart an image for screen readers, labelled by its heading; the table below has the same numbers."""
    return svg.replace("<svg ", f'<svg role="img" aria-labelledby="{kind}-title" ', 1)


def _file_stem(name: str) -> str:
    return "".join(letter for letter in name if letter.isalnum() or letter in "-_") or "session"


def _encode(chunks: Iterator[str]) -> Iterator[bytes]:
    return (text.encode("utf-8", "replace") for text in chunks)
