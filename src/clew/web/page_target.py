"""Resolve what a request asks for: a session or one of its agents, along a branch, with options."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from starlette.requests import Request

from clew.web.app_state import AppState
from clew.web.session_cache import Reading, SessionSnapshot
from clew.web.turn_html import ReaderChoice, parse_choice, session_url, shows_call


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
    if choice.only:
        reading = await asyncio.to_thread(_filter_turns, reading, choice.only)
    return PageTarget(snapshot, reading, choice, agent)


def _filter_turns(reading: Reading, only: str) -> Reading:
    """Return the turns that a filter leaves something of."""
    calls = {call.entry.offset for call in reading.session.calls if shows_call(call.name, call.failed, only)}
    turns = tuple(
        turn
        for turn in reading.turns
        if any(
            entry.offset in calls
            or (only == "errors" and entry.is_api_error)
            or (only == "thinking" and any(block.type == "thinking" for block in entry.blocks))
            for entry in turn.entries
        )
    )
    return replace(reading, turns=turns)
