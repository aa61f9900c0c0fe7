"""The reader: one session, page by page, with its outline, its branches, its agents, and what is new in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse

from clew.conversation.session_listing import Outline
from clew.errors import NotFound
from clew.index.surrounding_turns import turns_around
from clew.tui.external_programs import ResumeCommand
from clew.view.header import NO_PROMPT, describe_session
from clew.view.mask_rows import MaskCount, mask_rows
from clew.view.row_html import time_tag
from clew.view.row_markdown import markdown_pieces
from clew.view.rows import rows
from clew.web.app_state import AppState
from clew.web.paging import page_of
from clew.web.session_cache import Reading, SessionSnapshot
from clew.web.turn_html import Wish, base, page_html, wish_of

OUTLINE = 90  # letters of a prompt in the outline


@dataclass(frozen=True)
class PageTarget:
    """Where a request points to."""

    snapshot: SessionSnapshot
    reading: Reading
    wish: Wish
    agent: str

    @property
    def base(self) -> str:
        return base(self.snapshot.session.id, self.agent)

    @property
    def key(self) -> tuple[object, ...]:
        return self.snapshot.session.id, self.agent, self.wish, self.snapshot.state


async def place_of(desk: AppState, request: Request) -> PageTarget:
    """What a request asks for. Raises NotFound."""
    snapshot = await desk.shelf.open(request.path_params["session"])
    agent, wish = request.path_params.get("agent", ""), wish_of(request.query_params.items())
    reading = await asyncio.to_thread(snapshot.reading, agent, wish.branch)
    return PageTarget(snapshot, reading, wish, agent)


class ReaderPage:
    """The answers about one session."""

    def __init__(self, desk: AppState) -> None:
        self._desk = desk

    async def whole(self, request: Request) -> Response:
        """The page around the pages. Of a session its title is sent before it has been read."""
        session, agent = request.path_params["session"], request.path_params.get("agent", "")
        wish, number = wish_of(request.query_params.items()), request.query_params.get("page", "")
        at = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 1
        place = await place_of(self._desk, request) if agent or wish.branch else None
        title = await asyncio.to_thread(self._title, session, place)
        top = self._desk.renderer.top(request, "reader", title)
        names = {"base": base(session, agent), "parent": base(session), "wish": wish}

        async def parts() -> AsyncIterator[str]:
            yield self._desk.renderer.text("reader.html", **top, **names)
            there = place or await place_of(self._desk, request)
            values = await asyncio.to_thread(self._values, there, at)
            yield self._desk.renderer.text("session.html", **names, **values)

        return StreamingResponse(parts(), media_type="text/html")

    async def page(self, request: Request) -> Response:
        """One page alone, for the script that puts it below the others."""
        place = await place_of(self._desk, request)
        return HTMLResponse(await asyncio.to_thread(self._page, place, request.path_params["page"]))

    async def outline(self, request: Request) -> Response:
        place = await place_of(self._desk, request)
        return HTMLResponse(await asyncio.to_thread(self._outline, place))

    async def turn(self, request: Request) -> Response:
        """The way to a turn: the page that it is on, at its beginning."""
        place = await place_of(self._desk, request)
        number: int = request.path_params["turn"]
        place.reading.turn(number)
        at = page_of(place.reading.pages, number)
        return RedirectResponse(f"{place.base}{place.wish.query(page=at)}#turn-{number}", 303)

    async def offset(self, request: Request) -> Response:
        """The way to a byte of the file, which a search found."""
        place = await place_of(self._desk, request)
        where = await asyncio.to_thread(self._where, place, request.path_params["offset"])
        return RedirectResponse(f"{place.base}{where}", 303)

    async def markdown(self, request: Request) -> Response:
        """One turn as Markdown."""
        place = await place_of(self._desk, request)
        turn = place.reading.turn(request.path_params["turn"])

        def made() -> str:
            options = replace(place.wish.options, lines=None)
            found = rows(place.reading.session, [turn], options, place.snapshot.session.agents_for)
            return "".join(markdown_pieces(found if self._desk.is_revealed else mask_rows(found)))

        return PlainTextResponse(await asyncio.to_thread(made))

    async def events(self, request: Request) -> Response:
        """A line for each change, for as long as the reader listens."""
        session: str = request.path_params["session"]
        await asyncio.to_thread(self._desk.shelf.find, session)

        if self._desk.live.is_full:
            return PlainTextResponse("Too many pages follow sessions. Close some.\n", status_code=503)

        async def told() -> AsyncIterator[str]:
            async for state in self._desk.live.states(session):
                yield f"event: state\ndata: {quote(state, safe='/')}\n\n" if state else ": alive\n\n"

        return StreamingResponse(told(), media_type="text/event-stream")

    # -- what the answers are made of

    def _page(self, place: PageTarget, at: int) -> str:
        reading, count = place.reading, len(place.reading.pages)
        if not 1 <= at <= count:
            raise NotFound(str(at), "page")
        page = reading.pages[at - 1]
        ends = (
            (page[0].turn.entries[page[0].start].offset, page[-1].turn.entries[page[-1].stop - 1].offset)
            if page
            else ()
        )
        snapshot = place.snapshot
        when = (snapshot.edition, *ends) if reading.is_settled(page) else snapshot.state
        body = self._desk.made.get(
            ("page", snapshot.session.id, place.agent, place.wish, at, when),
            lambda: page_html(reading, page, place.wish, self._desk.is_revealed),
        )
        return self._desk.renderer.text(
            "page.html", **self._links(place, at), body=Markup(body), first=ends[0] if ends else 0
        )

    def _links(self, place: PageTarget, at: int) -> dict[str, Any]:
        turns = place.reading.turns
        return {
            "base": place.base,
            "wish": place.wish,
            "at": at,
            "count": len(place.reading.pages),
            "turns": turns[-1].number if turns else 0,
            "branches": len(place.reading.session.branches),
        }

    def _outline(self, place: PageTarget) -> str:
        def made() -> str:
            turns = [
                {
                    "number": turn.number,
                    "text": self._desk.words(turn.text, OUTLINE) or "(no text)",
                    "size": min(6, len(turn.entries).bit_length() - 1),
                    "is_compacted": any(entry.is_boundary for entry in turn.entries),
                }
                for turn in place.reading.turns
                if turn.number
            ]
            return self._desk.renderer.text("outline.html", base=place.base, wish=place.wish, outline=turns)

        return self._desk.made.get(("outline", *place.key), made)

    def _title(self, session: str, place: PageTarget | None) -> str:
        """The title of a session, from the two ends of its file; the description of an agent. Raises NotFound."""
        if place is not None and place.reading.agent is not None:
            return self._desk.words(place.reading.agent.description or place.agent)
        return self._desk.words(Outline(self._desk.shelf.find(session)).title) or NO_PROMPT

    def _values(self, place: PageTarget, at: int) -> dict[str, Any]:
        reading = place.reading
        told = describe_session(reading.session, self._desk.tally)
        return {
            "about": told,
            "started": Markup(time_tag(told.started)),
            "is_agent": reading.agent is not None,
            "branches": self._branches(reading),
            "resume": "" if reading.agent else self._resume(place),
            "page": Markup(self._page(place, min(max(1, at), len(reading.pages)))),
            "outline": Markup(self._outline(place)),
        }

    def _branches(self, reading: Reading) -> list[dict[str, Any]]:
        return [
            {
                "number": branch.number,
                "text": self._desk.words(branch.last.text, 60) or "(no text)",
                "is_active": branch.is_active,
                "is_shown": branch.is_active if reading.branch is None else branch.number == reading.branch.number,
            }
            for branch in reading.session.branches
        ]

    def _resume(self, place: PageTarget) -> str:
        session = place.snapshot.session
        command = ResumeCommand(
            session.id, session.cwd or ""
        ).command  # a line of printable characters: quoted, not tidied
        return command if self._desk.is_revealed else MaskCount().mask(command)

    def _where(self, place: PageTarget, offset: int) -> str:
        found = turns_around(place.reading.session, offset, 0)
        if found is None:
            return ""
        wish = replace(place.wish, branch=found.branch or 0)
        reading = place.snapshot.reading(place.agent, wish.branch)
        for at, page in enumerate(reading.pages, 1):
            for turn, start, stop in page:
                if any(entry.offset <= offset < entry.line.end for entry in turn.entries[start:stop]):
                    return wish.query(page=at) + (f"#turn-{turn.number}" if turn.number and not start else "")
        return f"{wish.query(page=page_of(reading.pages, found.turn.number))}#turn-{found.turn.number}"
