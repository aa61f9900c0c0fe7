"""The pages of one session: its turns, outline, branches, agents and live changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup
from msgspec import structs
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.responses import StreamingResponse as Streaming

from clew.conversation.session import Session
from clew.conversation.session_listing import Outline
from clew.conversation.speaker import prompt_text
from clew.errors import NotFound
from clew.facts.prices import dollars
from clew.index.surrounding_turns import turns_around
from clew.system.plural import plural
from clew.system.shell_quoting import resume_command, session_command
from clew.view.header import NO_PROMPT, describe_session
from clew.view.mask_rows import MaskCount, mask_rows
from clew.view.progressive import MIN_BYTES, early_rows
from clew.view.row_html import NAME, fragments, time_tag
from clew.view.row_markdown import markdown_pieces
from clew.view.rows import rows
from clew.view.sanitize import format_tokens
from clew.web.app_state import AppState
from clew.web.find_page import MAX_WORDS
from clew.web.live_updates import state_mark
from clew.web.loading import progress_lines
from clew.web.page_target import PageTarget, page_target
from clew.web.paging import Page, page_of_turn
from clew.web.session_cache import Reading
from clew.web.turn_facts import ReadingFacts, TurnFacts, reading_facts
from clew.web.turn_html import (
    Forks,
    ReaderChoice,
    ReaderLinks,
    mark_words,
    page_html,
    parse_choice,
    part_name,
    session_url,
)
from clew.wire.entry import Entry
from clew.wire.layout import SessionFile

OUTLINE_WIDTH = 90  # characters of a prompt in the outline
LIVE_SECONDS = 300  # a file that changed within this time is called live
EARLY_TURNS = 8  # turns of a large file that are shown before all of it is read
PIECE_SIZE = (
    1 << 14
)  # characters of them that are sent at once; the first prompt is sent alone, as soon as it is rendered


class OutlineRow(NamedTuple):
    """A turn of the outline as HTML, and what it was made from."""

    shown: tuple[object, ...]
    html: Markup


class ReaderPage:
    """Request handlers for one session."""

    def __init__(self, state: AppState) -> None:
        self._state = state

    async def full_page(self, request: Request) -> Response:
        """Stream the reader page: the title and the first turns are sent before a large session has been read."""
        session, agent = request.path_params["session"], request.path_params.get("agent", "")
        choice, number = parse_choice(request.query_params.items()), request.query_params.get("page", "")
        at = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 1
        target = await page_target(self._state, request) if agent or choice.branch else None
        file = await asyncio.to_thread(self._state.shelf.find, session)
        title = await asyncio.to_thread(self._title, file, target)
        top = self._state.renderer.head(request, "reader", title)
        names = {"base": session_url(session, agent), "parent": session_url(session), "wish": choice}
        find = request.query_params.get("find", "")[:MAX_WORDS]
        size = file.size if target is None else 0

        async def parts() -> AsyncIterator[str]:
            yield self._state.renderer.text("reader.html", **top, **names, size=size, find=find)
            if size >= MIN_BYTES and at == 1 and not choice.only and not self._state.shelf.is_open(session):
                async for piece in iterate_in_threadpool(self._early(file, choice)):
                    yield piece
            opening = asyncio.ensure_future(page_target(self._state, request))
            async for line in progress_lines(opening, lambda: self._state.shelf.progress(session)):
                yield line
            loaded = await opening
            values = await asyncio.to_thread(self._values, loaded, at, find)
            yield self._state.renderer.text("session.html", **{**names, **values})

        return Streaming(parts(), media_type="text/html")

    async def page(self, request: Request) -> Response:
        """Return one page alone, for the script that inserts it."""
        target = await page_target(self._state, request)
        return HTMLResponse(await asyncio.to_thread(self._page, target, request.path_params["page"]))

    async def outline(self, request: Request) -> Response:
        target = await page_target(self._state, request)
        return HTMLResponse(await asyncio.to_thread(self._outline, target))

    async def header(self, request: Request) -> Response:
        """Return the numbers of the header alone, for the script that follows a session."""
        target = await page_target(self._state, request)
        values = await asyncio.to_thread(self._numbers, target)
        return HTMLResponse(self._state.renderer.text("numbers.html", **values))

    async def turn(self, request: Request) -> Response:
        """Redirect to the page that contains a turn."""
        target = await page_target(self._state, request)
        number: int = request.path_params["turn"]
        target.reading.turn(number)
        at = page_of_turn(target.reading.pages, number)
        find = request.query_params.get("find", "")[:MAX_WORDS]
        return RedirectResponse(f"{target.base}{target.choice.query(page=at, find=find)}#turn-{number}", 303)

    async def call(self, request: Request) -> Response:
        """Redirect to a call. Raises NotFound."""
        target = await page_target(self._state, request)
        wanted: str = request.path_params["call"]
        at = _page_of_call(target.reading, wanted)
        return RedirectResponse(f"{target.base}{target.choice.query(page=at)}#{quote(f'call-{wanted}')}", 303)

    async def offset(self, request: Request) -> Response:
        """Redirect to the entry at a byte offset, which a search found; `find` names the words to mark."""
        target = await page_target(self._state, request)
        find = request.query_params.get("find", "")[:MAX_WORDS]
        query = await asyncio.to_thread(self._locate, target, request.path_params["offset"], find)
        return RedirectResponse(f"{target.base}{query}", 303)

    async def markdown(self, request: Request) -> Response:
        """Return one turn as Markdown."""
        target = await page_target(self._state, request)
        turn = target.reading.turn(request.path_params["turn"])

        def render() -> str:
            options = structs.replace(target.choice.options, lines=None)
            turn_rows = rows(target.reading.session, [turn], options, target.snapshot.session.agents_for)
            return "".join(markdown_pieces(turn_rows if self._state.is_revealed else mask_rows(turn_rows)))

        return PlainTextResponse(await asyncio.to_thread(render))

    async def prompt(self, request: Request) -> Response:
        """Return the prompt of a turn as text."""
        target = await page_target(self._state, request)
        text = target.reading.turn(request.path_params["turn"]).text
        return PlainTextResponse(text if self._state.is_revealed else MaskCount().mask(text))

    # -- parts of the responses

    def _page(self, target: PageTarget, at: int, find: str = "") -> str:
        reading, count = target.reading, len(target.reading.pages)
        if not 1 <= at <= count:
            raise NotFound(str(at), "page")
        page = reading.pages[at - 1]
        ends = _ends(page)
        snapshot = target.snapshot
        when = (snapshot.edition, *ends) if reading.is_settled(page) else snapshot.state
        forks = self._forks(target)
        body = self._state.cached_page(
            ("page", snapshot.session.id, target.agent, target.choice, at, when, str(forks)),
            lambda: self._page_html(target, page, forks),
        )
        return self._state.renderer.text(
            "page.html",
            **self._links(target, at),
            body=Markup(mark_words(body, find) if find else body),
            first=ends[0] if ends else 0,
        )

    def _page_html(self, target: PageTarget, page: Page, forks: Forks) -> str:
        numbers = {piece.turn.number for piece in page}
        facts = self._facts(target).turns
        costs = {number: facts[number].price for number in numbers if number in facts}
        links = ReaderLinks(target.reading, target.choice, costs, forks)
        return page_html(target.reading, page, target.choice, self._state.is_revealed, links)

    def _facts(self, target: PageTarget) -> ReadingFacts:
        key = ("facts", target.agent, target.choice.branch, target.choice.only)
        earlier, turns = target.snapshot.earlier.get(key, (None, 0))
        is_main = not target.agent and not target.choice.branch
        return target.snapshot.memo(key, lambda: reading_facts(target.reading, earlier, turns if is_main else 0))

    def _forks(self, target: PageTarget) -> Forks:
        """Return the branches that are not shown, by the first turn after they left the shown one."""
        reading, forks = target.reading, Forks()
        shown = [turn.prompt.uuid for turn in reading.turns if turn.number]
        for branch in reading.session.branches:
            prompts = [prompt.uuid for prompt in branch.prompts]
            shared = next((i for i, pair in enumerate(zip(prompts, shown, strict=False)) if pair[0] != pair[1]), None)
            if shared is not None:
                text = self._state.clean_text(branch.last.text, 40) or "(no text)"
                forks.setdefault(shared + 1, []).append((branch.number, text))
        return forks

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
            rows = self._outline_rows(target).values()
            return self._state.renderer.text("outline.html", outline=[row.html for row in rows])

        return self._state.cached_page(("outline", *target.key), render)

    def _outline_rows(self, target: PageTarget) -> dict[int, OutlineRow]:
        """Return the turns as HTML by their numbers; those of the moment before are kept if they show the same."""
        key = ("outline", target.agent, target.choice, self._state.is_revealed)
        earlier: dict[int, OutlineRow] = target.snapshot.earlier.get(key, ({}, 0))[0]
        facts, forks = self._facts(target), self._forks(target)
        sizes = facts.sizes

        def render() -> dict[int, OutlineRow]:
            rows: dict[int, OutlineRow] = {}
            pages = enumerate(target.reading.pages, 1)
            begun = ((piece.turn, at) for at, page in pages for piece in page if piece.turn.number and not piece.start)
            for turn, at in begun:
                number = turn.number
                shown = (turn.prompt, at, facts.turns[number], sizes[number], tuple(forks.get(number, ())))
                known = earlier.get(number)
                if known is None or known.shown != shown:
                    known = OutlineRow(shown, self._outline_row(target, *shown))
                rows[number] = known
            return rows

        return target.snapshot.memo(key, render)

    def _outline_row(
        self,
        target: PageTarget,
        prompt: Entry,
        at: int,
        facts: TurnFacts,
        size: int,
        forks: tuple[tuple[int, str], ...],
    ) -> Markup:
        turn = {
            "number": facts.number,
            "page": at,
            "text": self._state.clean_text(prompt_text(prompt), OUTLINE_WIDTH) or "(no text)",
            "size": size,
            "facts": facts,
            "forks": forks,
        }
        return Markup(self._state.renderer.text("outline_row.html", base=target.base, wish=target.choice, turn=turn))

    def _title(self, file: SessionFile, target: PageTarget | None) -> str:
        """Return the title of a session, from the two ends of its file, or the description of an agent."""
        if target is not None and target.reading.agent is not None:
            return self._state.clean_text(target.reading.agent.description or target.agent)
        return self._state.clean_text(Outline(file).title) or NO_PROMPT

    def _early(self, file: SessionFile, choice: ReaderChoice) -> Iterator[str]:
        """Yield the first turns of a large file: the first prompt as soon as it is rendered, then larger pieces."""
        early = early_rows(Session(file.path, file=file), choice.options, EARLY_TURNS)
        pieces: list[str] = []
        size = limit = 0
        for html in fragments(early if self._state.is_revealed else mask_rows(early), "early-"):
            pieces += [html] if size else ['<div id="early" aria-hidden="true" inert>\n', html]
            size += len(html)
            if size >= limit:
                yield "".join(pieces)
                pieces, limit = [], size + PIECE_SIZE
        if size:
            yield "".join([*pieces, "</div>\n"])

    def _numbers(self, target: PageTarget) -> dict[str, Any]:
        """Return the numbers of the header: those of the branch that is shown."""
        facts = self._facts(target)
        path = target.snapshot.session.path
        return {
            "base": target.base,
            "turns": plural(len(facts.turns), "turn"),
            "cost": dollars(facts.cost) if facts.cost else "",
            "output": f"{format_tokens(facts.output)} output tokens" if facts.output else "",
            "context": facts.context_share,
            "context_text": f"{format_tokens(facts.context)} of {format_tokens(facts.window)} tokens of context",
            "is_live": path is not None and time.time() - path.stat().st_mtime < LIVE_SECONDS,
        }

    def _values(self, target: PageTarget, at: int, find: str) -> dict[str, Any]:
        reading = target.reading
        header = target.snapshot.memo(
            ("header", target.agent, self._state.is_revealed),
            lambda: describe_session(reading.session, self._state.mask_count),
        )
        session = target.snapshot.session
        hidden = ("turns", "tokens", "id")
        return {
            **self._numbers(target),
            "about": header,
            "details": [(name, value) for name, value in header.details if name not in hidden],
            "started": Markup(time_tag(header.started)),
            "is_agent": reading.agent is not None,
            "branches": self._branches(reading),
            "tools": sorted({self._state.clean_text(call.name, 60) for call in reading.session.calls}),
            "resume": "" if reading.agent else self._resume(target),
            "clone": "" if reading.agent else session_command("clone", session.id),
            "page": Markup(self._page(target, min(max(1, at), len(reading.pages)), find)),
            "pages": len(reading.pages),
            "outline": Markup(self._outline(target)),
            "find": find,
            "state": state_mark(target.snapshot.state),
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
        if self._state.store:
            command = session_command("restore", session.id, "--store", self._state.store, full_id=True)
        return command if self._state.is_revealed else MaskCount().mask(command)

    def _locate(self, target: PageTarget, offset: int, find: str) -> str:
        location = turns_around(target.reading.session, offset, 0)
        if location is None:
            return ""
        choice = replace(target.choice, branch=location.branch or 0)
        reading = target.snapshot.reading(target.agent, choice.branch)
        for at, page in enumerate(reading.pages, 1):
            for piece in page:
                for entry in piece.turn.entries[piece.start : piece.stop]:
                    if not entry.offset <= offset < entry.line.end:
                        continue
                    uses = [result.tool_use_id for result in entry.results] or [use.id for use in entry.uses]
                    if find and uses and uses[0] and NAME.fullmatch(uses[0]):
                        at = _page_of_call(reading, uses[0])
                        return f"{choice.query(page=at, find=find)}#call-{uses[0]}"
                    fragment = f"#{part_name(piece)}" if piece.turn.number else ""
                    return choice.query(page=at, find=find) + fragment
        at = page_of_turn(reading.pages, location.turn.number)
        return f"{choice.query(page=at, find=find)}#turn-{location.turn.number}"


def _ends(page: Page) -> tuple[int, ...]:
    """Return the offsets of the first and the last entry of a page."""
    if not page:
        return ()
    first, last = page[0], page[-1]
    return first.turn.entries[first.start].offset, last.turn.entries[last.stop - 1].offset


def _page_of_call(reading: Reading, wanted: str) -> int:
    """Return the number of the page that shows a call. Raises NotFound."""
    for at, page in enumerate(reading.pages, 1):
        for turn, start, stop in page:
            if any(use.id == wanted for entry in turn.entries[start:stop] for use in entry.uses):
                return at
    raise NotFound(wanted, "call")
