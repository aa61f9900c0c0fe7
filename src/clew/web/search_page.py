"""The search page: passages of all sessions, counts to narrow the search, suggestions, and saved searches."""

from __future__ import annotations

import asyncio
import calendar
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from clew.browse.search_thread import SearchAnswer, parse_typed_query
from clew.browse.session_item import SessionItem, describe_unlisted, passage_label, passage_text, set_filter
from clew.errors import BadQuery
from clew.index.facets import Facets
from clew.index.query_pieces import FILTER_NAMES
from clew.index.query_syntax import parse_query
from clew.index.semantic.semantic_search import is_installed
from clew.index.snippet import Passage
from clew.system.plural import plural
from clew.web.app_state import AppState
from clew.web.query_suggestions import OPERATORS, suggest
from clew.web.session_row import format_cost, project_hue, short_model, shown_title
from clew.web.session_rows import TYPING_AGE, SessionRows
from clew.web.turn_html import session_url
from clew.web.user_marks import read_marks

PAGE_SIZE = 20
MAX_RESULTS = 320
FACET_SECONDS = 1.5  # to wait for the counts in a page without scripts
MAX_FACET = 8  # values of a facet that are shown
FACETS = {"project": "Project", "in": "Kind of passage", "tool": "Tool", "model": "Model", "month": "Month"}
KINDS = {"input": "tool input", "result": "tool result", "meta": "program text"}
_FILTER = re.compile(rf'(?i)(?<!\S)(-?)({"|".join(FILTER_NAMES)}):("[^"]*"|\S+)')


class SearchPage:
    def __init__(self, state: AppState, rows: SessionRows) -> None:
        self._state, self._rows = state, rows

    def routes(self) -> list[Route]:
        return [
            Route("/search", self.full_page),
            Route("/search/hits", self.hits),
            Route("/search/facets", self.facets),
        ]

    async def full_page(self, request: Request) -> Response:
        values = await self._values(request, is_fresh=True)
        facets = None
        if values["q"].strip() and not values["answer"].reason:
            try:
                async with asyncio.timeout(FACET_SECONDS):
                    facets = await self._state.searcher.count(values["q"])
            except TimeoutError:
                facets = None
        values |= self._facet_values(values["q"], facets, len(values["answer"].hits))
        values |= {
            "can_compare": is_installed(),
            "saved": [
                (self._state.clean_text(name, 80), query, name)
                for name, query in read_marks(self._state.preferences).searches.items()
            ],
            "operators": OPERATORS,
            "here": "/search?" + urlencode({"q": values["q"]}),
        }
        return self._state.renderer.page(request, "search", "Search", **values)

    async def hits(self, request: Request) -> Response:
        """Return the results alone, for the script that searches while the user types."""
        return HTMLResponse(self._state.renderer.text("search_hits.html", **await self._values(request)))

    async def facets(self, request: Request) -> Response:
        """Return the counts alone, which can take longer than the results."""
        text = request.query_params.get("q", "")[:2000]
        shown = request.query_params.get("shown", "0")
        facets = await self._state.searcher.count(text)
        values = self._facet_values(text, facets, int(shown) if shown.isascii() and shown.isdigit() else 0)
        return HTMLResponse(self._state.renderer.text("search_facets.html", **values))

    async def _values(self, request: Request, is_fresh: bool = False) -> dict[str, Any]:
        text, number = request.query_params.get("q", "")[:2500], request.query_params.get("limit", "")
        limit = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else PAGE_SIZE
        limit, semantic = max(1, min(MAX_RESULTS, limit)), bool(request.query_params.get("semantic"))
        rows = await self._rows.listed(0.0 if is_fresh else TYPING_AGE)
        answer = SearchAnswer()
        if text.strip():
            reason = _explain_empty(text)
            searcher = self._state.searcher
            answer = (
                SearchAnswer(reason=reason)
                if reason
                else await searcher.search(text, limit, semantic=semantic, is_fresh=is_fresh)
            )
        parameters = {"q": text, "semantic": "1" if semantic else ""}
        has_more = len(answer.hits) >= limit < MAX_RESULTS
        progress = self._state.searcher.progress
        return {
            "q": text,
            "semantic": semantic,
            "answer": answer,
            "limit": limit,
            "hits": [self._hit_values(hit, text) for hit in answer.hits],
            "headline": _describe(answer, bool(text.strip())),
            "more": urlencode({**parameters, "limit": min(MAX_RESULTS, limit * 2)}) if has_more else "",
            "chips": self._chips(text),
            "suggestions": suggest(text, rows, self._rows.marks(), self._state.is_shown),
            "percent": 100 * progress.done // progress.total if progress.total else 0,
        }

    def _hit_values(self, hit: SessionItem, text: str) -> dict[str, Any]:
        clean, row = self._state.clean_text, self._rows.find(hit.session)
        summary = row.summary if row else None
        return {
            "link": "" if hit.gone else session_url(hit.session),
            "note": clean(hit.note),
            "title": shown_title(self._state, hit.title),
            "project": clean(hit.project),
            "hue": project_hue(hit.project),
            "cwd": clean(hit.cwd),
            "branch": clean(hit.branch),
            "when": hit.when,
            "model": clean(short_model(summary.model)) if summary and summary.model else "",
            "turns": summary.turns if summary else 0,
            "cost": format_cost(summary) if summary else "",
            "matches": hit.matches,
            "looseness": clean(hit.looseness),
            "passages": [self._passage(hit, one, text) for one in hit.passages],
        }

    def _passage(self, hit: SessionItem, match: Passage, text: str) -> dict[str, Any]:
        shown, marks = passage_text(match, self._state.is_revealed)
        words = " ".join(dict.fromkeys(shown[start:stop] for start, stop in marks)) or _words(text)
        has_place = match.offset >= 0 and not hit.gone
        place = (
            f"{session_url(hit.session, match.agent)}/at/{match.offset}?{urlencode({'find': words}, errors='replace')}"
        )
        return {
            "kind": passage_label(match),
            "html": _highlight(shown, marks),
            "link": place if has_place else "" if hit.gone else session_url(hit.session),
            "has_failed": match.failed,
        }

    def _chips(self, text: str) -> list[dict[str, str]]:
        """Return the filters in a query, each with the query without it."""
        return [
            {"label": self._state.clean_text(found[0], 80), "query": " ".join(text.replace(found[0], " ", 1).split())}
            for found in _FILTER.finditer(text)
        ]

    def _facet_values(self, text: str, facets: Facets | None, shown: int) -> dict[str, Any]:
        groups = []
        for name, label in FACETS.items() if facets else ():
            values = facets.values[name][:MAX_FACET] if facets else []
            options = [
                {
                    "label": self._state.clean_text(_facet_label(name, value), 60),
                    "count": number,
                    "query": _narrow(text, name, value),
                    "hue": project_hue(value) if name == "project" else 0,
                }
                for value, number in values
                if self._state.is_shown(value)
            ]
            if len(options) > 1 or (options and name not in ("month", "in")):
                groups.append({"label": label, "options": options})
        sessions = max(facets.sessions, shown) if facets else 0
        total = f"{plural(sessions, 'session')}" + (
            f", {plural(facets.passages, 'passage')}" if facets and facets.passages else ""
        )
        return {"facets": groups, "total": total if facets and sessions else ""}


def _words(text: str) -> str:
    """Return the words of a query without its filters."""
    query = parse_typed_query(text)
    return " ".join(term.text for term in query.terms) if query else ""


def _narrow(text: str, name: str, value: str) -> str:
    """Return the query that selects one value of a facet."""
    if name == "month":
        year, month = map(int, value.split("-"))
        last = f"{year}-{month:02d}-{calendar.monthrange(year, month)[1]:02d}T23:59:59Z"
        return set_filter(set_filter(text, "since", f"{value}-01"), "until", last).strip()
    return set_filter(text, name, value.replace('"', "")).strip()


def _facet_label(name: str, value: str) -> str:
    if name == "month":
        return f"{datetime.strptime(value, '%Y-%m').replace(tzinfo=UTC):%B %Y}"
    return short_model(value) if name == "model" else KINDS.get(value, value) if name == "in" else value


def _explain_empty(text: str) -> str:
    """Say what a query lacks that selects nothing: a filter without a value, or no letters."""
    query = parse_typed_query(text)
    if query is None or query.clauses or query.filters:
        return ""
    try:
        parse_query(text)
    except BadQuery as error:
        return error.reason
    return ""


def _highlight(text: str, marks: list[tuple[int, int]]) -> Markup:
    html, at = Markup(), 0
    for start, stop in marks:
        html += escape(text[at:start]) + Markup("<mark>") + escape(text[start:stop]) + Markup("</mark>")
        at = stop
    return html + escape(text[at:])


def _describe(answer: SearchAnswer, has_query: bool) -> str:
    if not has_query:
        return ""
    if answer.reason:
        return f"{answer.reason}."
    if not answer.hits:
        return "Nothing matches."
    gone = sum(bool(hit.gone) for hit in answer.hits)
    notes = (
        f"Best {plural(len(answer.hits), 'session')}"
        if len(answer.hits) >= PAGE_SIZE
        else plural(len(answer.hits), "session"),
        f"{gone} without transcript" if gone else "",
        answer.meaning_note,
        describe_unlisted(answer.unlisted),
    )
    return " · ".join(note for note in notes if note)
