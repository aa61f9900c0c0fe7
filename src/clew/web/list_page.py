"""The list page: a search, filters, and the matching sessions."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.browse.search_thread import SearchAnswer
from clew.browse.session_item import (
    SessionItem,
    count_sessions,
    describe_unlisted,
    passage_label,
    passage_text,
    set_filter,
)
from clew.index.semantic.semantic_search import is_installed
from clew.index.snippet import Passage
from clew.web.app_state import AppState
from clew.web.turn_html import session_url

PAGE_SIZE = 60
MAX_RESULTS = 960
FILTERS = ("project", "since", "model")
SPANS = {"": "any time", "1d": "a day", "7d": "a week", "30d": "a month", "365d": "a year"}


class ListPage:
    def __init__(self, state: AppState) -> None:
        self._state = state

    async def full_page(self, request: Request) -> Response:
        values = await self._values(request)
        answer: SearchAnswer = values["answer"]
        known = answer if answer.is_building else await self._state.searcher.search("", MAX_RESULTS)
        folders = sorted({self._state.clean_text(hit.cwd or hit.folder) for hit in known.hits})
        values |= {"hits_html": Markup(self._hits(values)), "places": folders, "spans": SPANS}
        values["can_compare"] = is_installed()
        return self._state.renderer.page(request, "list", "Sessions", **values)

    async def part(self, request: Request) -> Response:
        """Return the list alone, for the script that searches while the user types."""
        return HTMLResponse(self._hits(await self._values(request)))

    async def _values(self, request: Request) -> dict[str, Any]:
        parameters = {name: request.query_params.get(name, "")[:500] for name in ("q", "limit", "semantic", *FILTERS)}
        text = parameters["q"]
        for name in FILTERS:
            if parameters[name].strip():
                text = set_filter(text.strip(), name, parameters[name].strip().replace('"', ""))
        number = parameters["limit"]
        limit = (
            min(MAX_RESULTS, int(number)) if number.isascii() and number.isdigit() and len(number) < 6 else PAGE_SIZE
        )
        answer = await self._state.searcher.search(text, max(1, limit), semantic=bool(parameters["semantic"]))
        return {"given": parameters, "answer": answer, "limit": limit, "asked": bool(text.strip())}

    def _hits(self, values: dict[str, Any]) -> str:
        answer: SearchAnswer = values["answer"]
        more = {**values["given"], "limit": min(MAX_RESULTS, values["limit"] * 4)}
        return self._state.renderer.text(
            "hits.html",
            hits=[self._item_values(hit) for hit in answer.hits],
            more=more if len(answer.hits) >= values["limit"] < MAX_RESULTS else {},
            said=_describe_answer(answer, values["asked"]),
            answer=answer,
        )

    def _item_values(self, hit: SessionItem) -> dict[str, Any]:
        return {
            "link": "" if hit.gone else session_url(hit.session),
            "note": self._state.clean_text(hit.note),
            "title": self._state.clean_text(hit.title, 160) or "(no prompt)",
            "project": self._state.clean_text(hit.project),
            "cwd": self._state.clean_text(hit.cwd),
            "branch": self._state.clean_text(hit.branch),
            "when": hit.when,
            "messages": hit.messages,
            "looseness": self._state.clean_text(hit.looseness),
            "passages": [self._passage(hit, one) for one in hit.passages],
        }

    def _passage(self, hit: SessionItem, match: Passage) -> dict[str, Any]:
        text, marks = passage_text(match, self._state.is_revealed)
        link = (
            f"{session_url(hit.session, match.agent)}/at/{match.offset}" if match.offset >= 0 and not hit.gone else ""
        )
        return {"kind": passage_label(match), "html": _highlight(text, marks), "link": link}


def _highlight(text: str, marks: list[tuple[int, int]]) -> Markup:
    html, at = Markup(), 0
    for start, stop in marks:
        html += escape(text[at:start]) + Markup("<mark>") + escape(text[start:stop]) + Markup("</mark>")
        at = stop
    return html + escape(text[at:])


def _describe_answer(answer: SearchAnswer, has_query: bool) -> str:
    if answer.reason:
        return f"{answer.reason}."
    count = len(answer.hits)
    if not count:
        return "Nothing matches." if has_query else "No sessions here."
    order = "best first" if has_query else "newest first"
    notes = (f"{count_sessions(answer.hits)}, {order}", answer.meaning_note, describe_unlisted(answer.unlisted))
    return " · ".join(note for note in notes if note)
