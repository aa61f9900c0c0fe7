"""Show the first turns of a large session before the complete file is read.

The active branch is only known at the end of the file. In large files the turns at the start are shown immediately;
if the conversation was later rewound to before them, a row says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from clew.conversation.agent_sessions import AGENT_TOOLS, Agent
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.system.plural import plural
from clew.view.row_types import NoteRow, Row
from clew.view.rows import ViewOptions, preamble_rows, remaining_rows, rows
from clew.wire.layout import AgentFile, SessionFile

MIN_BYTES = 4 << 20
HEAD_BYTES = 256 << 10


def progressive_rows(session: Session, options: ViewOptions) -> Iterator[Row]:
    """Yield the rows of a session, starting before it is read completely."""
    head = _load_head(session)
    early = _final_turns(head.turns) if head else []
    if head and early:
        yield from preamble_rows(head, options)
        yield from rows(head, early, options, partial(_find_agents, session.file, head))
    else:
        yield from preamble_rows(session, options)
    turns = session.turns
    shared = _count_shared(early, turns)
    if shared < len(early):
        rewind_text = (
            f"Here the conversation was rewound to turn {shared}." if shared else "Here the conversation was restarted."
        )
        above = plural(len(early) - shared, "turn above is", "turns above are")
        yield NoteRow(f"{rewind_text} The {above} on an abandoned branch.")
    elif early:
        yield from remaining_rows(session, turns[shared - 1], len(early[-1].entries), options)
    yield from rows(session, turns[shared:], options)


def early_rows(session: Session, options: ViewOptions, most: int) -> Iterator[Row]:
    """Yield the rows of at most `most` turns at the start of a large file, without reading the rest of it."""
    head = _load_head(session)
    if head and (early := _final_turns(head.turns)):
        yield from preamble_rows(head, options)
        yield from rows(head, early[:most], options, partial(_find_agents, session.file, head))


def _load_head(session: Session) -> Session | None:
    """Return the start of a large file as a session; None if the file is small."""
    if session.path is None or os.path.getsize(session.path) < MIN_BYTES:
        return None
    with open(session.path, "rb") as file:
        head = file.read(HEAD_BYTES)
    return Session(head[: head.rfind(b"\n") + 1], folder=session.folder)


def _final_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that cannot change. The last one ends before its last reply, whose results may follow."""
    if not turns:
        return []
    last = turns[-1]
    firsts = [reply.entries[0].line.offset for reply in last.replies]
    entries = last.entries if not firsts else last.entries[: _index(last, firsts[-1])]
    return [*turns[:-1], replace(last, entries=entries)]


def _index(turn: Turn, offset: int) -> int:
    return next(i for i, entry in enumerate(turn.entries) if entry.line.offset == offset)


def _find_agents(file: SessionFile | AgentFile | None, head: Session, call: Call) -> list[Agent]:
    """Return the agents of a call without reading others: by the id in its result, by meta files, or inside the
    file.
    """
    if call.name not in AGENT_TOOLS:
        return []
    files = file.agents() if isinstance(file, SessionFile) else []
    with_meta = [(f, f.meta()) for f in files]
    agents = [
        Agent(f.id, Session(f.path, file=f), call, file=f, meta=meta)
        for f, meta in with_meta
        if f.id == call.agent_id or (meta and meta.tool_use_id == call.id)
    ]
    return agents or head.agents_for(call)


def _count_shared(early: Sequence[Turn], turns: Sequence[Turn]) -> int:
    shared = 0
    for early_turn, turn in zip(early, turns, strict=False):
        if early_turn.prompt.uuid != turn.prompt.uuid:
            break
        shared += 1
    return shared
