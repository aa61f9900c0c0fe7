"""Export a session as one file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from clew.browse.session_charts import session_charts
from clew.conversation.session import Session
from clew.errors import NotFound
from clew.facts.token_usage import usage
from clew.view.export_session import export_parts, view_options
from clew.view.header import About, describe_session
from clew.view.html_page import NO_EXTRA, Extra
from clew.view.static_site import file_name
from clew.web.app_state import AppState
from clew.web.page_target import PageTarget, page_target

FORMATS = {"html": "html", "md": "markdown", "json": "json"}
MEDIA_TYPES = {"html": "text/html", "md": "text/markdown", "json": "application/x-ndjson"}


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
        parts = await asyncio.to_thread(self._parts, target, FORMATS[kind], header, is_every)
        return StreamingResponse(parts, media_type=f"{MEDIA_TYPES[kind]}; charset=utf-8", headers=name)

    def _header(self, target: PageTarget, is_every: bool) -> About:
        reading = target.reading
        return describe_session(reading.session, self._state.mask_count, reading.branch, every_branch=is_every)

    def _parts(self, target: PageTarget, format: str, header: About, is_every: bool) -> Iterable[bytes]:
        reading = target.reading
        has_charts = format == "html" and reading.branch is None
        return export_parts(
            reading.session,
            format,
            header,
            view_options(target.choice.depth, thinking=target.choice.thinking, agents=True),
            self._state.mask_count,
            turns=[turn for turn in reading.turns if turn.number] if reading.branch else None,
            branches=[branch for branch in reading.session.branches if is_every and not branch.is_active],
            agents=reading.root.agents_for,
            extra=self._charts(reading.session) if has_charts else NO_EXTRA,
        )

    def _charts(self, session: Session) -> Extra:
        return session_charts(session, usage(session), reveal=self._state.is_revealed)
