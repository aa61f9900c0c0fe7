"""The list page: all sessions, with filters, groups by day, and a preview."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.responses import StreamingResponse as Streaming
from starlette.routing import Route

from clew.browse.filtered_sessions import (
    HAS,
    IS,
    ORDERS,
    ListFilters,
    ListRow,
    SessionMarks,
    count_values,
    group_name,
    select_sessions,
)
from clew.browse.session_item import SessionItem
from clew.errors import NotFound
from clew.report.session_summary import SessionSummary
from clew.system.plural import plural
from clew.view.display_time import current_zone
from clew.view.sanitize import format_age, format_size, format_tokens
from clew.web.app_state import AppState
from clew.web.session_row import format_cost, project_hue, row_values, shown_title
from clew.web.session_rows import TYPING_AGE, SessionRows

PAGE_SIZE = 60
GONE_SECONDS = 0.25  # to wait for the sessions whose transcripts are gone
GONE_AGE = 1.0  # seconds for which they are kept
MAX_GONE = 960
MAX_SUGGESTED = 40  # values that a filter suggests
SPANS = {"1d": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days", "90d": "Last 90 days", "365d": "Last year"}
LABELS = {
    "project": "Project",
    "model": "Model",
    "tool": "Tool",
    "file": "File",
    "tag": "Tag",
    "has": "With",
    "is": "Is",
}

MAX_RENDERED = 4000  # rows that are kept as HTML


class RenderedRow(NamedTuple):
    """A row as HTML, and what it was made from."""

    summary: SessionSummary | None
    state: tuple[object, ...]
    html: Markup


Counts = dict[str, list[tuple[str, int]]]  # the values of each filter, with the number of sessions


class ListPage:
    def __init__(self, state: AppState, rows: SessionRows) -> None:
        self._state, self._rows = state, rows
        self._gone: tuple[float, tuple[SessionItem, ...], int] = (-1e9, (), 0)
        self._counted: tuple[object, Counts] = (None, {})
        self._rendered: dict[str, RenderedRow] = {}

    def routes(self) -> list[Route]:
        return [
            Route("/sessions", self.full_page),
            Route("/sessions/rows", self.rows),
            Route("/sessions/preview/{session}", self.preview),
        ]

    async def full_page(self, request: Request) -> Response:
        """Stream the page: a browser reads styles and scripts while the server looks at the files."""
        top = self._state.renderer.head(request, "list", "Sessions")

        async def parts() -> AsyncIterator[str]:
            yield self._state.renderer.text("top.html", **top)
            yield self._state.renderer.text("list.html", **top, **await self._page_values(request))

        return Streaming(parts(), media_type="text/html")

    async def _page_values(self, request: Request) -> dict[str, Any]:
        values = await self._values(request)
        filters, marks, shown = values["filters"], values["marks"], values["shown"]
        values["menus"] = self._menus(filters, self._count(await self._rows.listed(1.0), filters, marks))
        values["chips"] = [self._chip(filters, name, value) for name, value in filters.active.items()]
        first: ListRow | None = shown[0] if shown else None
        summary = first.summary if first else None
        values["preview"] = self._preview_values(first, summary, values["marks"]) if first and summary else None
        return values

    def _count(self, rows: list[ListRow], filters: ListFilters, marks: SessionMarks) -> Counts:
        """Count the values of the filters; those of the last page are kept for a minute."""
        key = (self._rows.snapshot.version, filters, marks, int(time.time() // 60))
        if self._counted[0] != key:
            try:
                self._counted = key, count_values(rows, filters, marks, time.time())
            except ValueError:
                self._counted = key, {}
        return self._counted[1]

    async def rows(self, request: Request) -> Response:
        """Return a page of rows alone, for scripts."""
        values = await self._values(request)
        return HTMLResponse(self._state.renderer.text("list_rows.html", **values))

    async def preview(self, request: Request) -> Response:
        """Return what the preview shows of a session."""
        row = None
        for age in (TYPING_AGE, 0.0):  # its summary may have been read since the list was made
            if row is None or row.summary is None:
                await self._rows.listed(age)
                row = self._rows.find(request.path_params["session"])
        if row is None or row.summary is None:
            raise NotFound(request.path_params["session"])
        preview = self._preview_values(row, row.summary, self._rows.marks())
        values = {"preview": preview, "form_token": request.state.form_token}
        return HTMLResponse(self._state.renderer.text("list_preview.html", **values))

    async def _values(self, request: Request) -> dict[str, Any]:
        filters = ListFilters.parse(request.query_params)
        version, asked = self._state.live.version, time.monotonic()
        rows = await self._rows.listed(TYPING_AGE if request.query_params.get("typing") else 0.0)
        marks, now = self._rows.marks(), time.time()
        reason = ""
        try:
            found = select_sessions(rows, filters, marks, now)
        except ValueError as error:
            found, reason = [], str(error)
        number = request.query_params.get("page", "")
        page = max(1, int(number)) if number.isascii() and number.isdigit() and len(number) < 6 else 1
        shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        is_last = page * PAGE_SIZE >= len(found)
        gone, unlisted = await self._gone_sessions() if is_last and not filters.parameters() else ((), 0)
        snapshot = self._rows.snapshot
        return {
            "filters": filters,
            "shown": shown,
            "marks": marks,
            "groups": self._groups(shown, filters, marks, now),
            "gone": [self._gone_values(item) for item in gone],
            "headline": _describe(len(found), len(rows), reason),
            "counted": min(page * PAGE_SIZE, len(found)),
            "total": len(found),
            "order": ORDERS[filters.order or "newest"],
            "unlisted": unlisted,
            "percent": snapshot.percent,
            "is_building": not snapshot.is_complete,
            "building_size": format_size(snapshot.total),
            "page": page,
            "next_page": "" if is_last else _address(filters, page=str(page + 1)),
            "here": _address(filters),
            "is_empty": not rows,
            "version": version if self._state.summaries.looked >= asked else "",  # else news may be missing
        }

    def _groups(
        self, shown: list[ListRow], filters: ListFilters, marks: SessionMarks, now: float
    ) -> list[tuple[str, list[Markup]]]:
        """Return the rows under their headings; rows that are not in the order of time have none."""
        groups: list[tuple[str, list[Markup]]] = []
        is_by_time = filters.order in ("", "newest", "oldest")
        for row in shown:
            html = self._render_row(row, marks, now)
            if html is None:
                continue
            name = group_name(row.ended, now, current_zone()) if is_by_time else ""
            if not groups or groups[-1][0] != name:
                groups.append((name, []))
            groups[-1][1].append(html)
        return groups

    def _render_row(self, row: ListRow, marks: SessionMarks, now: float) -> Markup | None:
        """Return a row as HTML; a list that changes with every key shows most rows again and again."""
        age, is_pinned = format_age(datetime.fromtimestamp(row.ended, UTC)), row.session in marks.pins
        tags = tuple(marks.tags_of(row))
        file = (row.file.size, row.file.mtime_ns)
        state = (file, row.ended, age, row.is_live(now), is_pinned, tags, self._state.is_revealed, current_zone())
        known = self._rendered.get(row.session)
        if known is not None and known.summary is row.summary and known.state == state:
            return known.html
        values = row_values(self._state, row, marks, now)
        if values is None:
            return None
        html = self._state.renderer.session_row(values)
        if len(self._rendered) >= MAX_RENDERED:
            self._rendered.clear()
        self._rendered[row.session] = RenderedRow(row.summary, state, html)
        return html

    def _menus(self, filters: ListFilters, counts: Counts) -> list[dict[str, Any]]:
        """Return the menus of filters: their values with counts, and the addresses that they lead to."""
        menus = []
        for name, label in LABELS.items():
            current = filters.active.get(name, "")
            words = HAS if name == "has" else IS if name == "is" else {}
            options = [
                self._option(filters, name, value, words.get(value, value), number)
                for value, number in counts.get(name, ())[:MAX_SUGGESTED]
                if self._state.is_shown(value)
            ]
            if options or current:
                menus.append({"name": name, "label": label, "options": options, "current": current})
        spans = [self._option(filters, "since", value, label) for value, label in SPANS.items()]
        orders = [self._option(filters, "order", value, label) for value, label in ORDERS.items()]
        current = filters.since
        menus.append({"name": "since", "label": "Since", "options": spans, "current": current})
        menus.append({"name": "order", "label": "Order", "options": orders, "current": filters.order})
        return menus

    def _option(self, filters: ListFilters, name: str, value: str, label: str, number: int = -1) -> dict[str, Any]:
        current = filters.order or "newest" if name == "order" else filters.active.get(name, "")
        shown = _last_parts(label) if name == "file" else label
        chosen = "" if value == current and name != "order" else value
        return {
            "label": self._state.clean_text(shown, 80),
            "count": number,
            "is_current": value == current,
            "href": _address(filters, **{name: chosen}),
            "hue": project_hue(value) if name == "project" else 0,
        }

    def _chip(self, filters: ListFilters, name: str, value: str) -> dict[str, str]:
        words = {**HAS, **IS, **{span: label.lower() for span, label in SPANS.items()}}.get(value, value)
        label = LABELS.get(name, name.capitalize()).lower()
        return {"label": f"{label}: {self._state.clean_text(words, 80)}", "href": _address(filters, **{name: ""})}

    def _preview_values(self, row: ListRow, summary: SessionSummary, marks: SessionMarks) -> dict[str, Any]:
        clean = self._state.clean_text
        values = row_values(self._state, row, marks, time.time()) or {}
        window = round(100 * summary.context_tokens / summary.context_limit) if summary.context_limit else 0
        return {
            **values,
            "title": shown_title(self._state, summary.title),
            "prompt": clean(summary.first_prompt, 600),
            "reply": clean(summary.last_reply, 700),
            "files": [
                (clean(_last_parts(path), 80), clean(path), number) for path, number in list(summary.edited.items())[:8]
            ],
            "more_files": max(0, len(summary.edited) - 8),
            "tools": sorted(
                ((clean(name, 40), calls, failed) for name, (calls, failed) in summary.tools.items()),
                key=lambda tool: -tool[1],
            )[:6],
            "cost": format_cost(summary),
            "tokens": format_tokens(summary.tokens),
            "window": min(100, window),
            "messages": summary.messages,
            "user_tags": [clean(tag, 40) for tag in marks.tags.get(row.session, ())],
        }

    async def _gone_sessions(self) -> tuple[tuple[SessionItem, ...], int]:
        """Return the sessions whose transcript is gone, and how many only the prompt history knows."""
        if time.monotonic() - self._gone[0] > GONE_AGE:
            try:
                async with asyncio.timeout(GONE_SECONDS):
                    answer = await self._state.searcher.search("", MAX_GONE)
            except TimeoutError:
                return self._gone[1:]
            if answer.is_building:
                return self._gone[1:]
            self._gone = time.monotonic(), tuple(hit for hit in answer.hits if hit.gone), answer.unlisted
        return self._gone[1:]

    def _gone_values(self, item: SessionItem) -> dict[str, Any]:
        clean = self._state.clean_text
        return {
            "title": shown_title(self._state, item.title),
            "project": clean(item.project),
            "when": item.when,
            "note": clean(item.note),
        }


def _last_parts(path: str) -> str:
    """Return the last three parts of a path."""
    parts = path.replace("\\", "/").rstrip("/").split("/")
    return "/".join(parts[-3:]) if len(parts) > 4 else path


def _address(filters: ListFilters, **changed: str) -> str:
    parameters = filters.parameters(**changed)
    return f"/sessions?{urlencode(parameters)}" if parameters else "/sessions"


def _describe(found: int, total: int, reason: str) -> str:
    if reason:
        return f"{reason}."
    if not total:
        return "No sessions."
    if not found:
        return f"None of {plural(total, 'session')} matches."
    return plural(total, "session") if found == total else f"{found:,} of {plural(total, 'session')}"
