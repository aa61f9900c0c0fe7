"""Side by side: two sessions, or two branches of one, turn by turn."""

from __future__ import annotations

import asyncio
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from clew.conversation.turns import Turn
from clew.web.app_state import AppState
from clew.web.paging import paged
from clew.web.session_cache import Reading
from clew.web.turn_html import Wish, base, piece_html

STEP = 10  # turns on a page
CHOICES = 60


class Compare:
    """The answer to `?left=ID&right=ID`, each with a branch behind a colon if it is not the active one."""

    def __init__(self, desk: AppState) -> None:
        self._desk = desk

    async def whole(self, request: Request) -> Response:
        left, right = (request.query_params.get(name, "") for name in ("left", "right"))
        if not left or not right:
            return await self._choose(request, left)
        number = request.query_params.get("from", "")
        start = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
        one, other = await self._reading(left), await self._reading(right)
        values = await asyncio.to_thread(self._values, one, other, start)
        return self._desk.renderer.page(request, "compare", "Side by side", left=left, right=right, **values)

    async def _reading(self, asked: str) -> Reading:
        session, _, branch = asked.partition(":")
        snapshot = await self._desk.shelf.open(session)
        number = int(branch) if branch.isascii() and branch.isdigit() and len(branch) < 9 else 0
        return await asyncio.to_thread(snapshot.reading, "", number)

    async def _choose(self, request: Request, left: str) -> Response:
        reading = await self._reading(left) if left else None
        answer = await self._desk.seeker.search("", CHOICES)
        sessions = [
            (hit.session, self._desk.words(hit.title, 80) or "(no prompt)") for hit in answer.hits if not hit.gone
        ]
        branches = [
            (f"{left.partition(':')[0]}:{branch.number}", self._desk.words(branch.last.text, 80) or "(no text)")
            for branch in (reading.session.branches if reading else ())
            if not branch.is_active
        ]
        return self._desk.renderer.page(request, "choose", "Compare", left=left, sessions=sessions, branches=branches)

    def _values(self, left: Reading, right: Reading, start: int) -> dict[str, Any]:
        ones, others = _turns(left), _turns(right)
        shared = _shared(ones, others)
        at = start or shared + 1
        last = max(len(ones), len(others))
        lines = [
            {
                "number": number,
                "left": self._turn(left, ones, number, "left-"),
                "right": self._turn(right, others, number, "right-"),
            }
            for number in range(at, min(last, at + STEP - 1) + 1)
        ]
        return {
            "shared": shared,
            "at": at,
            "earlier": max(1, at - STEP) if at > 1 else 0,
            "later": at + STEP if at + STEP <= last else 0,
            "lines": lines,
            "titles": [self._name(left), self._name(right)],
            "links": [_link(left), _link(right)],
            "ends": [len(ones), len(others)],
        }

    def _name(self, reading: Reading) -> str:
        name = self._desk.words(reading.session.title, 100) or "(no prompt)"
        return f"{name}, branch {reading.branch.number}" if reading.branch else name

    def _turn(self, reading: Reading, turns: list[Turn], number: int, prefix: str) -> Markup:
        if number > len(turns):
            return Markup()
        first, *rest = [piece for page in paged([turns[number - 1]]) for piece in page]
        branch = reading.branch.number if reading.branch else 0
        made = Markup(piece_html(reading, first, Wish(branch), self._desk.is_revealed, prefix))
        more = Markup('<p class="more">The turn goes on in the session.</p>') if rest else Markup()
        return made + more


def _turns(reading: Reading) -> list[Turn]:
    return [turn for turn in reading.turns if turn.number]


def _shared(left: list[Turn], right: list[Turn]) -> int:
    """The turns that are the same in both, from the beginning on."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if [entry.uuid for entry in one.entries] != [entry.uuid for entry in other.entries] or not one.prompt.uuid:
            break
        count += 1
    return count


def _link(reading: Reading) -> str:
    return base(reading.root.id) + Wish(reading.branch.number if reading.branch else 0).query()
