"""Add up what a summary needs over the lines of a session, part by part.

A part is a run of lines. The sums of a session are those of its first part, to which the next is added, and so on; a
session that is read at once has one part. Parts share no id and no reply, except that the first line of a part names its
parent (`conversation.session_growth` says when that holds).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct, field

from clew.conversation.agent_sessions import Agent
from clew.conversation.branches import Branch
from clew.conversation.replies import Call, merge_replies
from clew.conversation.rounds import GAP
from clew.conversation.session import Session
from clew.conversation.session_growth import Settled
from clew.conversation.speaker import prompt_text, speaker, starts_turn
from clew.conversation.titles import shorten_prompt
from clew.conversation.turns import Turn, spoken_entries
from clew.facts.file_changes import changed_path
from clew.facts.prices import Prices
from clew.facts.token_usage import Usage, count, usage
from clew.models import window_of
from clew.report.cost_by_turn import cost_of_replies, row_of_replies, turn_replies
from clew.wire.entry import Entry
from clew.wire.entry_types import Tag

MAX_PROMPT = 300  # characters of the first line of a command
MAX_REPLY = 900  # characters of the last reply
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class CallCounts(Struct, frozen=True, array_like=True):
    """Calls and failures by tool, edits by file, and failures by the first line of a command."""

    tools: dict[str, tuple[int, int]] = field(default_factory=dict)
    edited: dict[str, int] = field(default_factory=dict)
    failing: dict[str, int] = field(default_factory=dict)

    def with_calls(self, calls: Iterable[Call]) -> CallCounts:
        tools, edited, failing = dict(self.tools), dict(self.edited), dict(self.failing)
        for call in calls:
            done, failures = tools.get(call.name, (0, 0))
            has_failed = call.failed
            tools[call.name] = done + 1, failures + has_failed
            if has_failed and isinstance(command := call.input.get("command"), str):
                line = next(iter(command.strip().splitlines()), "")[:MAX_PROMPT]
                failing[line] = failing.get(line, 0) + 1
            elif not has_failed and not call.is_open and (path := changed_path(call)):
                edited[path] = edited.get(path, 0) + 1
        return CallCounts(tools, edited, failing)

    def plus(self, other: CallCounts) -> CallCounts:
        tools, edited, failing = dict(self.tools), dict(self.edited), dict(self.failing)
        for name, (done, failures) in other.tools.items():
            before = tools.get(name, (0, 0))
            tools[name] = before[0] + done, before[1] + failures
        for counts, more in ((edited, other.edited), (failing, other.failing)):
            for name, number in more.items():
                counts[name] = counts.get(name, 0) + number
        return CallCounts(tools, edited, failing)


class SummarySums(Struct, frozen=True, array_like=True):
    """The sums over the lines of a session up to some line. Times are microseconds since 1970.

    `prompt` is the first prompt with text, `command` the first command with text. `points` has (cost, has errors) of each
    turn; the last one may continue. `ended_branches` are those whose last prompt is in these lines, without the active
    one; `is_active_ended` says whether it is one of them.
    """

    cwd: str = ""
    tag: str = ""
    branch: str = ""
    prompt: str | None = None
    command: str | None = None
    last_reply: str = ""
    models: dict[str, int] = field(default_factory=dict)
    started: int | None = None
    ended: int | None = None
    active_time: int = 0
    points: tuple[tuple[int, bool], ...] = ()
    messages: int = 0
    api_errors: int = 0
    cost: int = 0
    tokens: int = 0
    unpriced: tuple[str, ...] = ()
    context: tuple[int, int] = (0, 0)
    agents: int = 0
    ended_branches: int = 0
    is_active_ended: bool = False
    has_active_prompts: bool = False
    compactions: int = 0
    is_interrupted: bool = False
    own_calls: CallCounts = CallCounts()
    agent_calls: CallCounts = CallCounts()


class SessionPart(NamedTuple):
    """Some lines of a session: their path, divided into what comes before the first prompt, and the turns; their calls,
    the agents that these started, the branches that end in them, and their replies with those of the agents.
    """

    session: Session
    entries: Sequence[Entry]
    path: Sequence[Entry]
    first: Sequence[Entry]
    groups: Sequence[Sequence[Entry]]
    calls: Sequence[Call]
    agents: Sequence[Agent]
    branches: Sequence[Branch]
    is_active_ended: bool | None  # None if the session has no prompt of the active branch
    has_active_prompts: bool
    usage: Usage

    @classmethod
    def whole(cls, session: Session) -> SessionPart:
        """Return all lines of a session."""
        groups = [turn.entries for turn in session.turns]
        is_ended = True if any(branch.is_active for branch in session.branches) else None
        parts = (session.active, session.preamble, groups, session.calls, session.agents, session.branches)
        return cls(session, session.entries, *parts, is_ended, bool(is_ended), _usage(session.entries, session.agents))

    @classmethod
    def before(cls, session: Session, settled: Settled, agents: Sequence[Agent]) -> SessionPart:
        """Return the lines of a session before the one at which it is divided."""
        entries = session.entries[: settled.count]
        is_ended = None
        if any(branch.is_active for branch in session.branches):
            is_ended = any(branch.is_active for branch in settled.branches)
        parts = (settled.path, settled.preamble, settled.groups, settled.pairing.calls, agents, settled.branches)
        return cls(session, entries, *parts, is_ended, bool(settled.prompts), _usage(entries, agents))


def _usage(entries: Sequence[Entry], agents: Iterable[Agent]) -> Usage:
    return sum((usage(agent.session.entries) for agent in agents), usage(entries))


def add_part(sums: SummarySums, part: SessionPart, prices: Prices) -> SummarySums | None:
    """Return the sums with those of the next part; None if the part does not follow on those before."""
    times = sorted(_microseconds(time) for entry in part.entries if entry.uuid and (time := entry.time))
    is_active_ended = sums.is_active_ended if part.is_active_ended is None else part.is_active_ended
    if sums.ended is not None and times and times[0] < sums.ended:
        return None  # the pauses between them were counted without these
    if sums.has_active_prompts and part.is_active_ended is None and not sums.is_active_ended:
        return None  # the active branch ends at a prompt that was no end before
    total = row_of_replies(part.usage.replies.values(), prices)
    spoken = sum(entry.type in ("user", "assistant") for entry in part.entries)
    tags = (Tag.of(entry).tag for entry in reversed(part.entries) if entry.type == "tag")
    prompt, command = _first_prompts(part)
    return SummarySums(
        cwd=sums.cwd or next((entry.cwd for entry in part.entries if entry.cwd), ""),
        tag=" ".join(next(tags, sums.tag).split()),
        branch=next((entry.git_branch for entry in reversed(part.entries) if entry.git_branch), sums.branch),
        prompt=prompt if sums.prompt is None else sums.prompt,
        command=command if sums.command is None else sums.command,
        last_reply=_last_reply(sums, part),
        models=_models(sums, part),
        started=min((time for time in (sums.started, *times[:1]) if time is not None), default=None),
        ended=times[-1] if times else sums.ended,
        active_time=sums.active_time + _active_time(times if sums.ended is None else [sums.ended, *times]),
        points=_points(sums, part, prices),
        messages=sums.messages + spoken,
        api_errors=sums.api_errors + sum(entry.is_api_error for entry in part.entries),
        cost=sums.cost + total.cost,
        tokens=sums.tokens + total.total,
        unpriced=tuple(sorted({*sums.unpriced, *total.unpriced})),
        context=_context(part.path) or sums.context,
        agents=sums.agents + len(part.agents),
        ended_branches=sums.ended_branches + sum(not branch.is_active for branch in part.branches),
        is_active_ended=is_active_ended,
        has_active_prompts=sums.has_active_prompts or part.has_active_prompts,
        compactions=sums.compactions + sum(entry.is_boundary for entry in part.entries),
        is_interrupted=_is_interrupted(sums, part),
        own_calls=sums.own_calls.with_calls(part.calls),
        agent_calls=sums.agent_calls.with_calls(call for agent in part.agents for call in agent.session.calls),
    )


def _microseconds(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def _active_time(times: Sequence[int]) -> int:
    """Return the time between entries without the pauses: gaps longer than those that separate rounds."""
    longest = GAP // _MICROSECOND
    return sum(gap for earlier, later in pairwise(times) if (gap := later - earlier) <= longest)


def _first_prompts(part: SessionPart) -> tuple[str | None, str | None]:
    """Return the first prompt with text, and the first command with text before it."""
    command: str | None = None
    for entry in part.entries:
        if starts_turn(entry, part.session.is_agent) and prompt_text(entry):
            if speaker(entry) == "prompt":
                return shorten_prompt(entry), command
            command = shorten_prompt(entry) if command is None else command
    return None, command


def _turn_groups(sums: SummarySums, part: SessionPart) -> list[Sequence[Entry]]:
    """Return the entries of each turn; the first are those that continue the last turn before, if there is one."""
    return [part.first, *part.groups] if sums.points else list(part.groups)


def _last_reply(sums: SummarySums, part: SessionPart) -> str:
    groups = reversed(_turn_groups(sums, part))
    return next((answer for group in groups if (answer := Turn(0, tuple(group)).answer)), sums.last_reply)[:MAX_REPLY]


def _models(sums: SummarySums, part: SessionPart) -> dict[str, int]:
    counts = dict(sums.models)
    for reply in merge_replies(part.entries):
        if (model := reply.model) and not reply.is_synthetic:
            counts[model] = counts.get(model, 0) + 1
    return counts


def _points(sums: SummarySums, part: SessionPart, prices: Prices) -> tuple[tuple[int, bool], ...]:
    """Return the cost of each turn with the agents that it started, and whether it has errors."""
    failed = {call.entry.offset for call in part.calls if call.failed}
    failed |= {entry.offset for entry in part.entries if entry.is_api_error}
    seen: set[str] = set()
    points = []
    for group in _turn_groups(sums, part):
        replies = turn_replies(part.session, Turn(0, tuple(group)), seen)
        cost = cost_of_replies(replies.values(), prices)
        points.append((cost, any(entry.offset in failed for entry in group)))
    if not sums.points:
        return tuple(points)
    (cost, has_errors), (more, has_more_errors) = sums.points[-1], points[0]
    return (*sums.points[:-1], (cost + more, has_errors or has_more_errors), *points[1:])


def _context(path: Sequence[Entry]) -> tuple[int, int] | None:
    """Return the tokens of the context window at the end, and its size; None if no reply reports them."""
    for entry in reversed(path):
        message = entry.message
        if entry.type == "assistant" and message and message.usage and not entry.is_synthetic:
            tokens = count(message.usage).total
            return tokens, window_of(message.model or "", tokens)
    return None


def _is_interrupted(sums: SummarySums, part: SessionPart) -> bool:
    """Return whether the last turn was interrupted."""
    if part.groups:
        return Turn(0, tuple(part.groups[-1])).state == "interrupted"
    spoken = spoken_entries(part.first) if sums.points else []
    return speaker(spoken[-1]) == "interrupt" if spoken else sums.is_interrupted
