"""The charts of one session: its context, and the cost of each turn."""

from __future__ import annotations

import asyncio
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from clew.facts.prices import dollars, load
from clew.report.context_history import context_points, context_window
from clew.report.cost_by_turn import cost_by_turn
from clew.report.plots import context_figure, turns_figure
from clew.view.header import NO_PROMPT
from clew.web.app_state import AppState
from clew.web.page_target import PageTarget, page_target


class ChartsPage:
    def __init__(self, state: AppState) -> None:
        self._state = state

    async def full_page(self, request: Request) -> Response:
        """Show the context size and the cost of each turn, as charts with tables."""
        target = await page_target(self._state, request)
        values = await asyncio.to_thread(self._values, target)
        return self._state.renderer.page(request, "charts", f"Charts of {values['name']}", **values)

    def _values(self, target: PageTarget) -> dict[str, Any]:
        session, prices = target.reading.session, load()
        points, table = context_points(session), cost_by_turn(session, prices, by_model=True)
        is_priced = any(row.cost for row in table.rows)

        def link(number: int) -> str:
            return f"{target.base}/turn/{number}"

        return {
            "name": self._state.clean_text(session.title) or NO_PROMPT,
            "base": target.base,
            "context": Markup(context_figure(points, context_window(session, points), link).html()) if points else "",
            "cost": Markup(turns_figure(table.rows, link).html()) if table.rows else "",
            "cost_title": "Cost by turn" if is_priced else "Tokens by turn",
            "total": dollars(table.total.cost),
            "prices": prices.date,
            "unpriced": ", ".join(self._state.clean_text(name) for name in table.total.unpriced),
        }
