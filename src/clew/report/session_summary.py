"""Summarize a session for lists, the start page and charts: what it is about, what it cost, what it did."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct, field

from clew.conversation.session import Session
from clew.facts.prices import MICRO, Prices, micros
from clew.report.summary_sums import SessionPart, SummarySums, add_part

MAX_SPARK = 40  # columns of a sparkline
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
    sums = add_part(SummarySums(), SessionPart.whole(session), prices)
    if sums is None:
        raise AssertionError("the first part of a session follows on nothing")
    return make_summary(session, sums, session.title)


def make_summary(session: Session, sums: SummarySums, title: str) -> SessionSummary:
    """Return the summary of a session from the sums over all of its lines."""
    calls = sums.own_calls.plus(sums.agent_calls)
    return SessionSummary(
        session=session.id,
        path=str(session.path or ""),
        folder=session.file.project_folder.name if session.file else "",
        cwd=sums.cwd,
        title=title,
        tag=sums.tag,
        branch=sums.branch,
        first_prompt=(sums.command if sums.prompt is None else sums.prompt) or "",
        last_reply=sums.last_reply,
        models=sums.models,
        started=(sums.started or 0) / MICRO,
        ended=(sums.ended or 0) / MICRO,
        active_seconds=int(sums.active_time / MICRO),
        turns=len(sums.points),
        messages=sums.messages,
        cost_micros=micros(sums.cost),
        unpriced=sums.unpriced,
        tokens=sums.tokens,
        context_tokens=sums.context[0],
        context_limit=sums.context[1],
        agents=sums.agents,
        branches=max(1, sums.ended_branches + sums.is_active_ended),
        compactions=sums.compactions,
        errors=sum(failures for _, failures in calls.tools.values()) + sums.api_errors,
        is_interrupted=sums.is_interrupted,
        is_conversation=bool(sums.messages) and not session.is_agent,
        edited=_most(calls.edited),
        tools=calls.tools,
        failing=_most(calls.failing),
        spark=shorten_spark([(micros(cost), has_errors) for cost, has_errors in sums.points]),
    )


def _most(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: -pair[1])[:MAX_NAMES])


def shorten_spark(points: Sequence[tuple[int, bool]]) -> tuple[tuple[int, bool], ...]:
    """Return at most MAX_SPARK points: the costs of neighbours are added, and an error of one counts for all."""
    size = min(MAX_SPARK, len(points))
    groups = (points[len(points) * i // size : len(points) * (i + 1) // size] for i in range(size))
    return tuple((sum(cost for cost, _ in group), any(error for _, error in group)) for group in groups)
