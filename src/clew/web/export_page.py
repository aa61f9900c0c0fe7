"""Export a session as one file, and draw its charts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
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
from clew.view.export_session import export_parts, view_options
from clew.view.header import NO_PROMPT, About, describe_session
from clew.view.static_site import file_name
from clew.web.app_state import AppState
from clew.web.reader_page import PageTarget, page_target

FORMATS = {"html": "html", "md": "markdown", "json": "json"}
MEDIA_TYPES = {"html": "text/html", "md": "text/markdown", "json": "application/x-ndjson"}
_PROMPT = 80


class ExportPage:
    def __init__(self, state: AppState) -> None:
        self._state = state

    async def export(self, request: Request) -> Response:
        """Send a complete session as one file; `?branches=all` adds what its other branches have of their own."""
        target = await page_target(self._state, request)
        kind: str = request.path_params["format"]
        if kind not in FORMATS:
            raise NotFound(kind, "format", list(FORMATS))
        is_every = request.query_params.get("branches") == "all" and target.reading.branch is None
        header = await asyncio.to_thread(self._header, target, is_every)
        name = {"Content-Disposition": f'attachment; filename="{file_name(header, f".{kind}")}"'}
        parts = self._parts(target, FORMATS[kind], header, is_every)
        return StreamingResponse(parts, media_type=f"{MEDIA_TYPES[kind]}; charset=utf-8", headers=name)

    async def charts(self, request: Request) -> Response:
        """Show the context size and the cost of each turn, as charts and as a table."""
        target = await page_target(self._state, request)
        values = await asyncio.to_thread(self._charts, target)
        return self._state.renderer.page(request, "charts", f"Charts of {values['name']}", **values)

    def _header(self, target: PageTarget, is_every: bool) -> About:
        reading = target.reading
        return describe_session(reading.session, self._state.mask_count, reading.branch, every_branch=is_every)

    def _parts(self, target: PageTarget, format: str, header: About, is_every: bool) -> Iterable[bytes]:
        reading = target.reading
        return export_parts(
            reading.session,
            format,
            header,
            view_options(target.choice.depth, thinking=target.choice.thinking, agents=True),
            self._state.mask_count,
            turns=[turn for turn in reading.turns if turn.number] if reading.branch else None,
            branches=[branch for branch in reading.session.branches if is_every and not branch.is_active],
            agents=reading.root.agents_for,
        )

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
