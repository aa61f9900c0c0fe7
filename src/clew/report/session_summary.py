"""Summarize a session for lists, the start page and charts: what it is about, what it cost, what it did."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct, field

from clew.conversation.replies import Call
from clew.conversation.rounds import GAP
from clew.conversation.session import Session
from clew.conversation.titles import first_prompt
from clew.facts.file_changes import changed_path
from clew.facts.prices import Prices, micros
from clew.facts.token_usage import count
from clew.models import window_of
from clew.report.cost_by_turn import ELSEWHERE, cost_by_turn

MAX_SPARK = 40  # columns of a sparkline
MAX_PROMPT = 300  # characters of a prompt, and of the first line of a command
MAX_REPLY = 900  # characters of the last reply
MAX_NAMES = 200  # files and commands that one summary keeps


class SessionSummary(Struct, frozen=True, array_like=True):
    """What is known of a session without reading it again. Texts are as in the file: mask them before they are shown.

    Times are seconds since 1970, or 0. `spark` has (cost in micros, has errors) of each turn, or of several if there
    are many. `edited` counts edits by path, `tools` has (calls, failures) by name, `failing` counts the first lines of
    commands that failed; calls of agents are included. `cost_micros` counts each reply once over all sessions.
    """

    session: str
    path: str
    folder: str = ""
    cwd: str = ""
    title: str = ""
    tag: str = ""
    branch: str = ""
    first_prompt: str = ""
    last_reply: str = ""
    models: dict[str, int] = field(default_factory=dict)
    started: float = 0.0
    ended: float = 0.0
    active_seconds: int = 0
    turns: int = 0
    messages: int = 0
    cost_micros: int = 0
    unpriced: tuple[str, ...] = ()
    tokens: int = 0
    context_tokens: int = 0
    context_limit: int = 0
    agents: int = 0
    branches: int = 1
    compactions: int = 0
    errors: int = 0
    is_interrupted: bool = False
    is_conversation: bool = True
    edited: dict[str, int] = field(default_factory=dict)
    tools: dict[str, tuple[int, int]] = field(default_factory=dict)
    failing: dict[str, int] = field(default_factory=dict)
    spark: tuple[tuple[int, bool], ...] = ()

    @property
    def project(self) -> str:
        """The last part of the working directory, as lists name it."""
        return os.path.basename(self.cwd.replace("\\", "/").rstrip("/")) or self.folder

    @property
    def model(self) -> str:
        """The model of most replies; empty if there is none."""
        return max(self.models, key=self.models.__getitem__, default="")


def summarize(session: Session, prices: Prices) -> SessionSummary:
    """Read a session with its agents and sum it up. The cost is that of its own replies."""
    calls = (*session.calls, *session.agent_calls)
    tools, edited, failing = _count_calls(calls)
    table = cost_by_turn(session, prices)
    failed = {call.entry.offset for call in session.calls if call.failed}
    failed |= {entry.offset for entry in session.entries if entry.is_api_error}
    turns, rows = session.turns, [row for row in table.rows if row.name != ELSEWHERE]
    points = [
        (micros(row.cost), any(entry.offset in failed for entry in turn.entries))
        for turn, row in zip(turns, rows, strict=True)
    ]
    tokens, limit = _context(session)
    spoken = sum(entry.type in ("user", "assistant") for entry in session.entries)
    answer = next((text for turn in reversed(turns) if (text := turn.answer)), "")
    return SessionSummary(
        session=session.id,
        path=str(session.path or ""),
        folder=session.file.project_folder.name if session.file else "",
        cwd=session.cwd or "",
        title=session.title,
        tag=session.tag,
        branch=session.branch_name or "",
        first_prompt=first_prompt(session)[:MAX_PROMPT],
        last_reply=answer[:MAX_REPLY],
        models=session.models,
        started=_seconds(session.started),
        ended=_seconds(session.ended),
        active_seconds=_active_seconds(session),
        turns=len(turns),
        messages=spoken,
        cost_micros=micros(table.total.cost),
        unpriced=tuple(sorted(table.total.unpriced)),
        tokens=table.total.total,
        context_tokens=tokens,
        context_limit=limit,
        agents=len(session.agents),
        branches=max(1, len(session.branches)),
        compactions=len(session.compactions),
        errors=sum(failures for _, failures in tools.values()) + sum(entry.is_api_error for entry in session.entries),
        is_interrupted=bool(turns) and turns[-1].state == "interrupted",
        is_conversation=bool(spoken) and not session.is_agent,
        edited=edited,
        tools=tools,
        failing=failing,
        spark=shorten_spark(points),
    )


def _count_calls(calls: Iterable[Call]) -> tuple[dict[str, tuple[int, int]], dict[str, int], dict[str, int]]:
    """Return calls and failures by tool, edits by file, and failures by command."""
    tools: dict[str, tuple[int, int]] = {}
    edited: dict[str, int] = {}
    failing: dict[str, int] = {}
    for call in calls:
        done, failures = tools.get(call.name, (0, 0))
        has_failed = call.failed
        tools[call.name] = done + 1, failures + has_failed
        if has_failed and isinstance(command := call.input.get("command"), str):
            line = next(iter(command.strip().splitlines()), "")[:MAX_PROMPT]
            failing[line] = failing.get(line, 0) + 1
        elif not has_failed and not call.is_open and (path := changed_path(call)):
            edited[path] = edited.get(path, 0) + 1
    return tools, _most(edited), _most(failing)


def _most(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: -pair[1])[:MAX_NAMES])


def _seconds(time: datetime | None) -> float:
    return time.timestamp() if time else 0.0


def _active_seconds(session: Session) -> int:
    """Return the time between entries without the pauses: gaps longer than those that separate rounds."""
    times = sorted(time for entry in session.entries if entry.uuid and (time := entry.time))
    gaps = (later - earlier for earlier, later in pairwise(times))
    return int(sum((gap for gap in gaps if gap <= GAP), timedelta()).total_seconds())


def _context(session: Session) -> tuple[int, int]:
    """Return the tokens of the context window at the end, and its size; 0 if no reply reports them."""
    for entry in reversed(session.active):
        message = entry.message
        if entry.type == "assistant" and message and message.usage and not entry.is_synthetic:
            tokens = count(message.usage).total
            return tokens, window_of(message.model or "", tokens)
    return 0, 0


def shorten_spark(points: Sequence[tuple[int, bool]]) -> tuple[tuple[int, bool], ...]:
    """Return at most MAX_SPARK points: the costs of neighbours are added, and an error of one counts for all."""
    size = min(MAX_SPARK, len(points))
    groups = (points[len(points) * i // size : len(points) * (i + 1) // size] for i in range(size))
    return tuple((sum(cost for cost, _ in group), any(error for _, error in group)) for group in groups)
