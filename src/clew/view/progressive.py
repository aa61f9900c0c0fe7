"""The opening: the first turns of a large session before all of it has been read.

Which branch is active is only known at the end of the file. In a file of many megabytes the turns at its beginning are shown
at once, as they stand there; should the conversation later have gone back behind them, a row says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from clew.conversation.agent_sessions import AGENT_TOOLS, Agent
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.system.plural import plural
from clew.view.rows import Row, ViewOptions, first_rows, rest_rows, rows
from clew.wire.layout import AgentFile, SessionFile

LARGE = 4 << 20
HEAD = 256 << 10


def opening(session: Session, options: ViewOptions) -> Iterator[Row]:
    """The rows of a session, beginning before it has been read."""
    head = _head(session)
    early = _settled(head.turns) if head else []
    if head and early:
        yield from first_rows(head, options)
        yield from rows(head, early, options, partial(_agents, session.file, head))
    else:
        yield from first_rows(session, options)
    turns = session.turns
    shared = _shared(early, turns)
    if shared < len(early):
        went = f"Here the conversation went back to turn {shared}." if shared else "Here the conversation began anew."
        above = plural(len(early) - shared, "turn above is", "turns above are")
        yield Row("note", f"{went} The {above} on a branch that was left.")
    elif early:
        yield from rest_rows(session, turns[shared - 1], len(early[-1].entries), options)
    yield from rows(session, turns[shared:], options)


def _head(session: Session) -> Session | None:
    """The beginning of a large file as a session of its own."""
    if session.path is None or os.path.getsize(session.path) < LARGE:
        return None
    with open(session.path, "rb") as file:
        head = file.read(HEAD)
    return Session(head[: head.rfind(b"\n") + 1], folder=session.folder)


def _settled(turns: Sequence[Turn]) -> list[Turn]:
    """Turns of which no more will change: the last one is cut before its last reply, whose results may be to come."""
    if not turns:
        return []
    last = turns[-1]
    firsts = [reply.entries[0].line.offset for reply in last.replies]
    kept = last.entries if not firsts else last.entries[: _index(last, firsts[-1])]
    return [*turns[:-1], replace(last, entries=kept)]


def _index(turn: Turn, offset: int) -> int:
    return next(i for i, entry in enumerate(turn.entries) if entry.line.offset == offset)


def _agents(file: SessionFile | AgentFile | None, head: Session, call: Call) -> list[Agent]:
    """The agents of a call, without reading the others: by the id in its result, by their meta files, or inside the file."""
    if call.name not in AGENT_TOOLS:
        return []
    files = file.agents() if isinstance(file, SessionFile) else []
    found = [(f, f.meta()) for f in files]
    made = [
        Agent(f.id, Session(f.path, file=f), call, file=f, meta=meta)
        for f, meta in found
        if f.id == call.agent_id or (meta and meta.tool_use_id == call.id)
    ]
    return made or head.agents_for(call)


def _shared(early: Sequence[Turn], turns: Sequence[Turn]) -> int:
    shared = 0
    for mine, yours in zip(early, turns, strict=False):
        if mine.prompt.uuid != yours.prompt.uuid:
            break
        shared += 1
    return shared
