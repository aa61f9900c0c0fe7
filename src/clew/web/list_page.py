"""The list: a search, filters, and the sessions that answer them."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.index.snippet import Passage
from clew.tui.session_item import SessionItem, count_sessions, describe_unlisted, filtered, kind, passage
from clew.web.app_state import AppState
from clew.web.background_search import SearchAnswer
from clew.web.turn_html import base

FIRST = 60
MOST = 960
FILTERS = ("project", "since", "model")
SPANS = {"": "any time", "1d": "a day", "7d": "a week", "30d": "a month", "365d": "a year"}


class ListPage:
    def __init__(self, desk: AppState) -> None:
        self._desk = desk

    async def whole(self, request: Request) -> Response:
        values = await self._values(request)
        answer: SearchAnswer = values["answer"]
        known = answer if answer.is_building else await self._desk.seeker.search("", MOST)
        places = sorted({self._desk.words(hit.cwd or hit.folder) for hit in known.hits})
        values |= {"hits_html": Markup(self._hits(values)), "places": places, "spans": SPANS}
        return self._desk.renderer.page(request, "list", "Sessions", **values)

    async def part(self, request: Request) -> Response:
        """The sessions alone, for the script that asks while somebody types."""
        return HTMLResponse(self._hits(await self._values(request)))

    async def _values(self, request: Request) -> dict[str, Any]:
        given = {name: request.query_params.get(name, "")[:500] for name in ("q", "limit", *FILTERS)}
        text = given["q"]
        for name in FILTERS:
            if given[name].strip():
                text = filtered(text.strip(), name, given[name].strip().replace('"', ""))
        number = given["limit"]
        limit = min(MOST, int(number)) if number.isascii() and number.isdigit() and len(number) < 6 else FIRST
        answer = await self._desk.seeker.search(text, max(1, limit))
        return {"given": given, "answer": answer, "limit": limit, "asked": bool(text.strip())}

    def _hits(self, values: dict[str, Any]) -> str:
        answer: SearchAnswer = values["answer"]
        more = {**values["given"], "limit": min(MOST, values["limit"] * 4)}
        return self._desk.renderer.text(
            "hits.html",
            hits=[self._told(hit) for hit in answer.hits],
            more=more if len(answer.hits) >= values["limit"] < MOST else {},
            said=_said(answer, values["asked"]),
            answer=answer,
        )

    def _told(self, hit: SessionItem) -> dict[str, Any]:
        return {
            "link": "" if hit.gone else base(hit.session),
            "note": self._desk.words(hit.note),
            "title": self._desk.words(hit.title, 160) or "(no prompt)",
            "project": self._desk.words(hit.project),
            "cwd": self._desk.words(hit.cwd),
            "branch": self._desk.words(hit.branch),
            "when": hit.when,
            "messages": hit.messages,
            "passages": [self._passage(hit, one) for one in hit.passages],
        }

    def _passage(self, hit: SessionItem, found: Passage) -> dict[str, Any]:
        text, marks = passage(found, self._desk.is_revealed)
        link = f"{base(hit.session, found.agent)}/at/{found.offset}" if found.offset >= 0 and not hit.gone else ""
        return {"kind": kind(found), "html": _marked(text, marks), "link": link}


def _marked(text: str, marks: list[tuple[int, int]]) -> Markup:
    made, at = Markup(), 0
    for start, stop in marks:
        made += escape(text[at:start]) + Markup("<mark>") + escape(text[start:stop]) + Markup("</mark>")
        at = stop
    return made + escape(text[at:])


def _said(answer: SearchAnswer, asked: bool) -> str:
    if answer.reason:
        return answer.reason
    count = len(answer.hits)
    if not count:
        return "Nothing matches." if asked else "No sessions here."
    order = "best first" if asked else "newest first"
    more = describe_unlisted(answer.unlisted)
    return f"{count_sessions(answer.hits)}, {order}{f' · {more}' if more else ''}"
