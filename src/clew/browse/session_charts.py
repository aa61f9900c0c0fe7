"""The charts of a session for its exported page: the context, and the cost of each turn."""

from __future__ import annotations

from clew.conversation.session import Session
from clew.facts.prices import load
from clew.facts.secrets.mask_secrets import mask
from clew.facts.token_usage import Usage
from clew.report.charts.canvas import asset
from clew.report.context_history import context_points, context_window
from clew.report.cost_by_turn import all_turn_costs
from clew.report.plots import context_figure, turns_figure
from clew.view.html_page import NO_EXTRA, Extra

_MIN_TURNS = 2


def session_charts(session: Session, spent: Usage, *, reveal: bool) -> Extra:
    """Return charts that lead to the turns of the page; none for a single turn, or if the name of a model is a secret.

    `spent` is the usage of the session.
    """
    has_secret = not reveal and any(mask(model)[1] for model in session.models)
    if len(session.turns) < _MIN_TURNS or has_secret:
        return NO_EXTRA

    def link(number: int) -> str:
        return f"#turn-{number}"

    points = context_points(session)
    costs = all_turn_costs(session, load(), spent.replies, by_model=True)
    figures = [context_figure(points, context_window(session, points), link)] if points else []
    figures += [turns_figure(costs, link)] if costs else []
    body = "".join(f"<h3>{figure.title}</h3>{figure.html()}" for figure in figures)
    html = f'<details class="charts"><summary>Context and cost by turn</summary>\n{body}</details>\n' if body else ""
    return Extra(html, asset("chart.css") if html else "")
