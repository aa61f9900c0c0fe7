"""The pages of one session: its turns, outline, branches, agents and live changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse

from clew.conversation.session_listing import Outline
from clew.errors import NotFound
from clew.index.surrounding_turns import turns_around
from clew.system.shell_quoting import resume_command
from clew.view.header import NO_PROMPT, describe_session
from clew.view.mask_rows import MaskCount, mask_rows
from clew.view.row_html import time_tag
from clew.view.row_markdown import markdown_pieces
from clew.view.rows import rows
from clew.web.app_state import AppState
from clew.web.paging import page_of_turn
from clew.web.session_cache import Reading, SessionSnapshot
from clew.web.turn_html import ReaderChoice, page_html, parse_choice, session_url

OUTLINE_WIDTH = 90  # characters of a prompt in the outline


@dataclass(frozen=True)
class PageTarget:
    """The session, branch and options that a request asks for."""

    snapshot: SessionSnapshot
    reading: Reading
    choice: ReaderChoice
    agent: str

    @property
    def base(self) -> str:
        return session_url(self.snapshot.session.id, self.agent)

    @property
    def key(self) -> tuple[object, ...]:
        return self.snapshot.session.id, self.agent, self.choice, self.snapshot.state


async def page_target(state: AppState, request: Request) -> PageTarget:
    """Resolve the target of a request. Raises NotFound."""
    snapshot = await state.shelf.open(request.path_params["session"])
    agent, choice = request.path_params.get("agent", ""), parse_choice(request.query_params.items())
    reading = await asyncio.to_thread(snapshot.reading, agent, choice.branch)
    return PageTarget(snapshot, reading, choice, agent)


class ReaderPage:
    """Request handlers for one session."""

    def __init__(self, state: AppState) -> None:
        self._state = state

    async def full_page(self, request: Request) -> Response:
        """Stream the reader page. The title of a session is sent before the session has been read."""
        session, agent = request.path_params["session"], request.path_params.get("agent", "")
        choice, number = parse_choice(request.query_params.items()), request.query_params.get("page", "")
        at = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 1
        target = await page_target(self._state, request) if agent or choice.branch else None
        title = await asyncio.to_thread(self._title, session, target)
        top = self._state.renderer.head(request, "reader", title)
        names = {"base": session_url(session, agent), "parent": session_url(session), "wish": choice}

        async def parts() -> AsyncIterator[str]:
            yield self._state.renderer.text("reader.html", **top, **names)
            loaded = target or await page_target(self._state, request)
            values = await asyncio.to_thread(self._values, loaded, at)
            yield self._state.renderer.text("session.html", **names, **values)

        return StreamingResponse(parts(), media_type="text/html")

    async def page(self, request: Request) -> Response:
        """Return one page alone, for the script that inserts it."""
        target = await page_target(self._state, request)
        return HTMLResponse(await asyncio.to_thread(self._page, target, request.path_params["page"]))

    async def outline(self, request: Request) -> Response:
        target = await page_target(self._state, request)
        return HTMLResponse(await asyncio.to_thread(self._outline, target))

    async def turn(self, request: Request) -> Response:
        """Redirect to the page that contains a turn."""
        target = await page_target(self._state, request)
        number: int = request.path_params["turn"]
        target.reading.turn(number)
        at = page_of_turn(target.reading.pages, number)
        return RedirectResponse(f"{target.base}{target.choice.query(page=at)}#turn-{number}", 303)

    async def offset(self, request: Request) -> Response:
        """Redirect to the entry at a byte offset, which a search found."""
        target = await page_target(self._state, request)
        query = await asyncio.to_thread(self._locate, target, request.path_params["offset"])
        return RedirectResponse(f"{target.base}{query}", 303)

    async def markdown(self, request: Request) -> Response:
        """Return one turn as Markdown."""
        target = await page_target(self._state, request)
        turn = target.reading.turn(request.path_params["turn"])

        def render() -> str:
            options = replace(target.choice.options, lines=None)
            turn_rows = rows(target.reading.session, [turn], options, target.snapshot.session.agents_for)
            return "".join(markdown_pieces(turn_rows if self._state.is_revealed else mask_rows(turn_rows)))

        return PlainTextResponse(await asyncio.to_thread(render))

    # -- parts of the responses

    def _page(self, target: PageTarget, at: int) -> str:
        reading, count = target.reading, len(target.reading.pages)
        if not 1 <= at <= count:
            raise NotFound(str(at), "page")
        page = reading.pages[at - 1]
        ends = (
            (page[0].turn.entries[page[0].start].offset, page[-1].turn.entries[page[-1].stop - 1].offset)
            if page
            else ()
        )
        snapshot = target.snapshot
        when = (snapshot.edition, *ends) if reading.is_settled(page) else snapshot.state
        body = self._state.cached_page(
            ("page", snapshot.session.id, target.agent, target.choice, at, when),
            lambda: page_html(reading, page, target.choice, self._state.is_revealed),
        )
        return self._state.renderer.text(
            "page.html", **self._links(target, at), body=Markup(body), first=ends[0] if ends else 0
        )

    def _links(self, target: PageTarget, at: int) -> dict[str, Any]:
        turns = target.reading.turns
        return {
            "base": target.base,
            "wish": target.choice,
            "at": at,
            "count": len(target.reading.pages),
            "turns": turns[-1].number if turns else 0,
            "branches": len(target.reading.session.branches),
        }

    def _outline(self, target: PageTarget) -> str:
        def render() -> str:
            turns = [
                {
                    "number": turn.number,
                    "text": self._state.clean_text(turn.text, OUTLINE_WIDTH) or "(no text)",
                    "size": min(6, len(turn.entries).bit_length() - 1),
                    "is_compacted": any(entry.is_boundary for entry in turn.entries),
                }
                for turn in target.reading.turns
                if turn.number
            ]
            return self._state.renderer.text("outline.html", base=target.base, wish=target.choice, outline=turns)

        return self._state.cached_page(("outline", *target.key), render)

    def _title(self, session: str, target: PageTarget | None) -> str:
        """Return the title of a session, from the two ends of its file, or the description of an agent. Raises
        NotFound.
        """
        if target is not None and target.reading.agent is not None:
            return self._state.clean_text(target.reading.agent.description or target.agent)
        return self._state.clean_text(Outline(self._state.shelf.find(session)).title) or NO_PROMPT

    def _values(self, target: PageTarget, at: int) -> dict[str, Any]:
        reading = target.reading
        header = describe_session(reading.session, self._state.mask_count)
        return {
            "about": header,
            "started": Markup(time_tag(header.started)),
            "is_agent": reading.agent is not None,
            "branches": self._branches(reading),
            "resume": "" if reading.agent else self._resume(target),
            "page": Markup(self._page(target, min(max(1, at), len(reading.pages)))),
            "outline": Markup(self._outline(target)),
        }

    def _branches(self, reading: Reading) -> list[dict[str, Any]]:
        return [
            {
                "number": branch.number,
                "text": self._state.clean_text(branch.last.text, 60) or "(no text)",
                "is_active": branch.is_active,
                "is_shown": branch.is_active if reading.branch is None else branch.number == reading.branch.number,
            }
            for branch in reading.session.branches
        ]

    def _resume(self, target: PageTarget) -> str:
        session = target.snapshot.session
        command = resume_command(session.id, session.cwd or "")  # one line of printable characters, quoted
        return command if self._state.is_revealed else MaskCount().mask(command)

    def _locate(self, target: PageTarget, offset: int) -> str:
        location = turns_around(target.reading.session, offset, 0)
        if location is None:
            return ""
        choice = replace(target.choice, branch=location.branch or 0)
        reading = target.snapshot.reading(target.agent, choice.branch)
        for at, page in enumerate(reading.pages, 1):
            for turn, start, stop in page:
                if any(entry.offset <= offset < entry.line.end for entry in turn.entries[start:stop]):
                    return choice.query(page=at) + (f"#turn-{turn.number}" if turn.number and not start else "")
        return f"{choice.query(page=page_of_turn(reading.pages, location.turn.number))}#turn-{location.turn.number}"
