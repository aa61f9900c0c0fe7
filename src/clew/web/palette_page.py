"""The palette: sessions, projects, saved searches and pages by their names. A script shows it as a dialog (Ctrl-K)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew.browse.filtered_sessions import ListRow
from clew.system.plural import plural
from clew.view.sanitize import format_age
from clew.web.app_state import AppState
from clew.web.session_row import format_cost, project_hue, row_values
from clew.web.session_rows import TYPING_AGE, SessionRows
from clew.web.user_marks import read_marks

MAX_SHOWN = 8  # items of a group
PAGES = {
    "Start": "/",
    "Sessions": "/sessions",
    "Pinned sessions": "/sessions?is=pinned",
    "Live sessions": "/sessions?is=live",
    "Sessions with errors": "/sessions?has=errors",
    "Most expensive sessions": "/sessions?order=cost",
    "Search": "/search",
    "Failed calls": "/search?q=is%3Aerror",
    "Files": "/files",
    "Usage and cost": "/usage",
    "Compare two sessions": "/compare",
    "Settings: theme, density, time zone, masking": "/settings",
}
Item = dict[str, Any]
Name = TypeVar("Name")


class PalettePage:
    def __init__(self, state: AppState, rows: SessionRows) -> None:
        self._state, self._rows = state, rows

    def routes(self) -> list[Route]:
        return [Route("/palette", self.answer)]

    async def answer(self, request: Request) -> Response:
        """Return what fits the words, as JSON for the script or else as a page."""
        text = request.query_params.get("q", "").strip()[:200]
        rows = await self._rows.listed(TYPING_AGE if text else 0.0)
        groups = [group for group in self._groups(text, rows) if group["items"]]
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"groups": groups})
        return self._state.renderer.page(request, "palette", "Go to", q=text, groups=groups)

    def _groups(self, text: str, rows: list[ListRow]) -> Iterator[dict[str, Any]]:
        words = text.lower().split()
        yield {"label": "Sessions", "items": self._sessions(words, rows)}
        projects = Counter(row.summary.project for row in rows if row.summary)
        found = _fitting(words, projects, str)
        yield {"label": "Projects", "items": [self._project(name, projects[name]) for name in found]}
        searches = read_marks(self._state.preferences).searches
        saved = _fitting(words, searches, lambda name: f"{name} {searches[name]}")
        yield {
            "label": "Saved searches",
            "items": [
                {"label": self._state.clean_text(name, 80), "href": "/search?" + urlencode({"q": searches[name]})}
                for name in saved
            ],
        }
        yield {
            "label": "Pages",
            "items": [{"label": name, "href": PAGES[name]} for name in _fitting(words, PAGES, str)],
        }
        asked = {
            "label": f"Search all text for “{text}”",
            "href": "/search?" + urlencode({"q": text}, errors="replace"),
        }
        yield {"label": "Search", "items": [asked] if text else []}

    def _project(self, name: str, number: int) -> Item:
        label = self._state.clean_text(name, 60)
        note = plural(number, "session")
        return {
            "label": label,
            "note": note,
            "href": "/sessions?" + urlencode({"project": label}),
            "hue": project_hue(name),
        }

    def _sessions(self, words: list[str], rows: list[ListRow]) -> list[Item]:
        marks, items = self._rows.marks(), []
        found = _fitting(words, rows, _session_text)
        for row in sorted(found, key=lambda row: row.session not in marks.pins):
            values = row_values(self._state, row, marks, 0.0)
            if values is not None:
                cost = format_cost(row.summary) if row.summary else ""
                note = " · ".join(filter(None, (values["project"], cost, format_age(values["when"]))))
                items.append({"label": values["title"], "note": note, "href": values["link"], "hue": values["hue"]})
        return items


def _session_text(row: ListRow) -> str:
    summary = row.summary
    return f"{summary.title} {summary.first_prompt} {summary.project} {row.session}" if summary else row.session


def _fitting(words: list[str], names: Iterable[Name], text_of: Callable[[Name], str]) -> list[Name]:
    """Return the first names whose text contains all words; those that begin with the first word come first."""
    first: list[Name] = []
    others: list[Name] = []
    for name in names:
        text = text_of(name).lower()
        if all(word in text for word in words):
            (first if words and text.startswith(words[0]) else others).append(name)
    return [*first, *others][:MAX_SHOWN]
