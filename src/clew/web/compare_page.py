"""Compare two sessions, or two branches of one, turn by turn."""

from __future__ import annotations

import asyncio
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from clew.conversation.turns import Turn
from clew.web.app_state import AppState
from clew.web.paging import split_pages
from clew.web.session_cache import Reading
from clew.web.turn_html import ReaderChoice, part_html, session_url

TURNS_PER_PAGE = 10  # turns
CHOICES = 60


class ComparePage:
    """Answers `?left=ID&right=ID`; a branch other than the active one follows its id after a colon."""

    def __init__(self, state: AppState) -> None:
        self._state = state

    async def full_page(self, request: Request) -> Response:
        left, right = (request.query_params.get(name, "") for name in ("left", "right"))
        if not left or not right:
            return await self._choose(request, left)
        number = request.query_params.get("from", "")
        start = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
        one, other = await self._reading(left), await self._reading(right)
        values = await asyncio.to_thread(self._values, one, other, start)
        return self._state.renderer.page(request, "compare", "Side by side", left=left, right=right, **values)

    async def _reading(self, target: str) -> Reading:
        session, _, branch = target.partition(":")
        snapshot = await self._state.shelf.open(session)
        number = int(branch) if branch.isascii() and branch.isdigit() and len(branch) < 9 else 0
        return await asyncio.to_thread(snapshot.reading, "", number)

    async def _choose(self, request: Request, left: str) -> Response:
        reading = await self._reading(left) if left else None
        answer = await self._state.searcher.search("", CHOICES)
        sessions = [
            (hit.session, self._state.clean_text(hit.title, 80) or "(no prompt)") for hit in answer.hits if not hit.gone
        ]
        branches = [
            (f"{left.partition(':')[0]}:{branch.number}", self._state.clean_text(branch.last.text, 80) or "(no text)")
            for branch in (reading.session.branches if reading else ())
            if not branch.is_active
        ]
        return self._state.renderer.page(request, "choose", "Compare", left=left, sessions=sessions, branches=branches)

    def _values(self, left: Reading, right: Reading, start: int) -> dict[str, Any]:
        left_turns, right_turns = _turns(left), _turns(right)
        shared = _count_shared(left_turns, right_turns)
        at = start or shared + 1
        last = max(len(left_turns), len(right_turns))
        lines = [
            {
                "number": number,
                "left": self._turn(left, left_turns, number, "left-"),
                "right": self._turn(right, right_turns, number, "right-"),
            }
            for number in range(at, min(last, at + TURNS_PER_PAGE - 1) + 1)
        ]
        return {
            "shared": shared,
            "at": at,
            "earlier": max(1, at - TURNS_PER_PAGE) if at > 1 else 0,
            "later": at + TURNS_PER_PAGE if at + TURNS_PER_PAGE <= last else 0,
            "lines": lines,
            "titles": [self._name(left), self._name(right)],
            "links": [_link(left), _link(right)],
            "ends": [len(left_turns), len(right_turns)],
        }

    def _name(self, reading: Reading) -> str:
        name = self._state.clean_text(reading.session.title, 100) or "(no prompt)"
        return f"{name}, branch {reading.branch.number}" if reading.branch else name

    def _turn(self, reading: Reading, turns: list[Turn], number: int, prefix: str) -> Markup:
        if number > len(turns):
            return Markup()
        first, *more_parts = [piece for page in split_pages([turns[number - 1]]) for piece in page]
        branch = reading.branch.number if reading.branch else 0
        html = Markup(part_html(reading, first, ReaderChoice(branch), self._state.is_revealed, prefix))
        more = Markup('<p class="more">The turn continues in the session.</p>') if more_parts else Markup()
        return html + more


def _turns(reading: Reading) -> list[Turn]:
    return [turn for turn in reading.turns if turn.number]


def _count_shared(left: list[Turn], right: list[Turn]) -> int:
    """Count the turns at the beginning that are the same in both."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if [entry.uuid for entry in one.entries] != [entry.uuid for entry in other.entries] or not one.prompt.uuid:
            break
        count += 1
    return count


def _link(reading: Reading) -> str:
    return session_url(reading.root.id) + ReaderChoice(reading.branch.number if reading.branch else 0).query()
