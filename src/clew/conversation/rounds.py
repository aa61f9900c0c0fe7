"""Divide a session into rounds at the inputs of the user, in file order.

Three rules divide it. A user message with `permissionMode` starts a round; one without, but with a tool result,
continues the current round, whatever its parent is; any other starts one. `determine_round_type`, `starts_round` and
`rounds` apply them to plain JSON, as early descriptions of the format do. `session.rounds` applies the same code to
entries, with one more rule: text that Claude Code wrote as a user message (command output, caveats, summaries,
interruptions) does not start a round.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args
from unicodedata import east_asian_width

from msgspec import Struct
from msgspec.structs import replace

from clew.conversation.agent_sessions import AGENT_TOOLS
from clew.conversation.replies import Call, Reply, merge_replies, pair_calls
from clew.conversation.speaker import InputKind, input_kind, prompt_text, starts_turn
from clew.conversation.turns import Turn
from clew.wire.entry import BaseEntry, Entry
from clew.wire.json_codec import JsonView
from clew.wire.timestamps import parse_timestamp

if TYPE_CHECKING:
    from clew.conversation.session import Session

RoundType = Literal["new_session", "continue", "resume", "new_round"]
RoundKind = Literal["first", "new", "continue", "resume", "result"]
Complexity = Literal["high", "medium", "low"]
KINDS: tuple[RoundKind, ...] = get_args(RoundKind)
COMPLEXITIES: tuple[Complexity, ...] = get_args(Complexity)
GAP = timedelta(minutes=5)
SHORT = (
    20  # characters of a short instruction such as "next step"; a wide (Chinese, Japanese, Korean) one counts as three
)


class Marks(NamedTuple):
    """The properties of a user message that divide rounds. `is_typed` is false for text that Claude Code wrote."""

    has_mode: bool
    has_parent: bool
    has_result: bool
    timestamp: str | int | float | None = None
    is_typed: bool = True

    @property
    def time(self) -> datetime | None:
        return parse_timestamp(self.timestamp)

    @property
    def begins(self) -> bool:
        """Whether the message starts a round, by the three rules."""
        return self.has_mode or (not self.has_result and self.is_typed)

    def type(self, before: datetime | None, gap: timedelta = GAP) -> RoundType:
        """Return the type of the message; `before` is the time of the message before it."""
        if self.has_mode or not self.has_parent:
            return "new_session"
        if self.has_result:
            return "continue"
        pause = self.pause(before)
        return "resume" if pause is not None and pause > gap else "new_round"

    def pause(self, before: datetime | None) -> timedelta | None:
        return time - before if before and (time := self.time) else None


class Divider:
    """Divide a stream of messages into rounds. `number` is the current round."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def add(self, marks: Marks) -> bool:
        """Add the next user message; return whether it starts a round."""
        begins = marks.begins or (marks.has_result and not self.number)
        self.number += begins
        return begins


# -- plain JSON


def determine_round_type(
    message: JsonView, prev_msg: JsonView | None = None, threshold_minutes: float = 5
) -> RoundType:
    """Return the type of a user message: new_session (permissionMode or no parent), continue (tool result), resume
    or new_round.
    """
    before = parse_timestamp(prev_msg.get("timestamp")) if prev_msg is not None else None
    return _marks_of_json(message).type(before, timedelta(minutes=threshold_minutes))


def starts_round(message: JsonView) -> bool:
    """Return whether a user message starts a round: with permissionMode always, else only without a tool result."""
    return _marks_of_json(message).begins


def rounds(messages: Iterable[JsonView]) -> list[list[JsonView]]:
    """Group messages into rounds. Messages whose type is not `user` belong to the round in which they stand."""
    divider = Divider()
    groups: list[list[JsonView]] = []
    for message in messages:
        begins = message.get("type", "user") == "user" and divider.add(_marks_of_json(message))
        if not groups or (begins and divider.number > 1):
            groups.append([])
        groups[-1].append(message)
    return groups


def _marks_of_json(message: JsonView) -> Marks:
    inner = message.get("message")
    content = inner.get("content") if isinstance(inner, dict) else None
    blocks = content if isinstance(content, list) else []
    return Marks(
        has_mode=message.get("permissionMode") is not None,
        has_parent=message.get("parentUuid") is not None,
        has_result=any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks),
        timestamp=message.get("timestamp"),
    )


# -- entries


def marks_of(entry: BaseEntry, parent: str | None, permission_mode: str | None, is_agent: bool = False) -> Marks | None:
    """Return the marks of an entry; None if it is not an input. A prompt typed while the model was working is one."""
    if entry.is_sidechain and not is_agent:
        return None
    is_typed = starts_turn(entry, is_agent)
    if entry.type != "user" and not is_typed:
        return None
    has_mode = permission_mode is not None
    return Marks(has_mode, parent is not None, entry.has_results, entry.timestamp, is_typed)


class Features(NamedTuple):
    """The features of a round's input, which determine its class."""

    is_first: bool
    input: InputKind
    is_short: bool

    @property
    def complexity(self) -> Complexity | None:
        """`low` for a short instruction; `high` for a full one that is the first or has a selection; else `medium`."""
        if self.input == "tool_result":
            return None
        if self.is_short:
            return "low"
        return "high" if self.is_first or self.input == "ide_selection" else "medium"

    def kind(self, pause: timedelta | None, gap: timedelta = GAP) -> RoundKind:
        if self.input == "tool_result":
            return "result"
        if self.is_first:
            return "first"
        if pause is not None and pause > gap:
            return "resume"
        return "continue" if self.is_short else "new"


def features_of(entry: BaseEntry, marks: Marks, number: int) -> Features:
    """Return the features of the message that starts a round. It is a first one if it has no parent or number 1."""
    return Features(not marks.has_parent or number == 1, input_kind(entry), is_short(prompt_text(entry)))


def is_short(text: str) -> bool:
    """Return whether an instruction is as short as "continue" or "继续", and so not the description of a task."""
    return len(text) <= SHORT and len(text) + 2 * sum(east_asian_width(letter) in "WF" for letter in text) <= SHORT


class Round(Struct, frozen=True, dict=True):
    """An input of the user and everything up to the next one, in the order of the file.

    `type` is what `determine_round_type` gives for the input; `kind` is its class: `first`, `resume` (after a pause longer
    than the gap), `continue` (a short instruction), `new`, or `result` where the file begins with a tool result.
    """

    number: int
    entry: Entry
    entries: tuple[Entry, ...]
    type: RoundType
    kind: RoundKind
    features: Features
    pause: float | None
    is_active: bool

    @property
    def text(self) -> str:
        """The instruction, without the context that the editor added; for a tool result its text."""
        results = self.entry.results
        return "\n".join(block.result_text for block in results) if results else prompt_text(self.entry)

    @property
    def input(self) -> InputKind:
        return self.features.input

    @property
    def complexity(self) -> Complexity | None:
        return self.features.complexity

    @property
    def time(self) -> datetime | None:
        return self.entry.time

    @property
    def permission_mode(self) -> str | None:
        return self.entry.permission_mode

    @property
    def slug(self) -> str | None:
        """The short label that Claude Code gave to the messages."""
        return next((entry.slug for entry in self.entries if entry.slug), None)

    @property
    def seconds(self) -> float | None:
        """The duration: as Claude Code measured it, else from the input to the last message."""
        messages = tuple(e for e in self.entries if e.uuid and e.offset >= self.entry.offset)
        return Turn(self.number, messages or self.entries).seconds

    @cached_property
    def replies(self) -> tuple[Reply, ...]:
        return merge_replies(self.entries)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        return pair_calls(self.entries).calls

    @property
    def agents(self) -> int:
        """The number of calls that started an agent."""
        return sum(call.name in AGENT_TOOLS for call in self.calls)

    @property
    def thinking(self) -> int:
        """The number of thinking blocks."""
        return sum(block.type == "thinking" for reply in self.replies for block in reply.blocks)

    @property
    def errors(self) -> int:
        """The number of failed calls and of replies that are errors of the API."""
        return sum(call.failed for call in self.calls) + sum(reply.is_error for reply in self.replies)


class Opening(NamedTuple):
    """An input that starts a round: its number, its marks, and the time of the message before it."""

    number: int
    entry: Entry
    marks: Marks
    before: datetime | None

    @property
    def features(self) -> Features:
        return features_of(self.entry, self.marks, self.number)

    @property
    def pause(self) -> timedelta | None:
        return self.marks.pause(self.before)


class OpeningFinder:
    """Find the inputs that start rounds, entry by entry in file order. Entries after an input do not change it.

    It may begin in the middle of a file, after `number` rounds and a message at the time `latest`.
    """

    def __init__(self, is_agent: bool, number: int = 0, latest: datetime | None = None) -> None:
        self.is_agent = is_agent
        self._divider = Divider(number)
        self._latest = latest  # the time of the last message before the current opening
        self._messages: list[Entry] = []  # the messages after it; only times that matter are parsed

    def add(self, entry: Entry) -> Opening | None:
        """Add the next entry; return the round that it starts."""
        if entry.is_sidechain and not self.is_agent:
            return None
        opening = None
        marks = marks_of(entry, entry.parent, entry.permission_mode, self.is_agent)
        if marks is not None and self._divider.add(marks):
            self._latest = next((time for said in reversed(self._messages) if (time := said.time)), self._latest)
            self._messages.clear()
            opening = Opening(self._divider.number, entry, marks, self._latest)
        if entry.type in ("user", "assistant") or marks is not None:
            self._messages.append(entry)
        return opening


def rounds_of(session: Session, gap: timedelta = GAP) -> tuple[Round, ...]:
    """Return the rounds of a session. Those on an abandoned branch are included, with `is_active` false."""
    return _rounds_from(session, 0, [], session.active, gap)


def extend_rounds(before: Sequence[Round], session: Session, start: int, path: Sequence[Entry]) -> tuple[Round, ...]:
    """Return the rounds of a session whose file has grown, from its rounds before.

    The entries before `start`, and those of them that are on the active path, are the same as before; `path` is the active
    path from there on.
    """
    top = session.entries[start].offset
    known = list(before[: bisect_left(before, top, key=lambda round_: round_.entry.offset)])
    if not known:
        return rounds_of(session)
    last = known[-1].entries
    known[-1] = replace(known[-1], entries=last[: bisect_left(last, top, key=lambda entry: entry.offset)])
    return _rounds_from(session, start, known, path)


def _rounds_from(
    session: Session, start: int, known: list[Round], path: Iterable[Entry], gap: timedelta = GAP
) -> tuple[Round, ...]:
    """Return `known`, the rounds of the entries before `start`, the last of which may continue, and the rounds after."""
    active = {entry.offset for entry in path}
    finder = OpeningFinder(session.is_agent, len(known), _latest_time(session.entries[:start], session.is_agent))
    groups: list[list[Entry]] = [[]]
    openings: list[Opening] = []
    for entry in session.entries[start:]:
        if entry.is_sidechain and not session.is_agent:
            continue
        if opening := finder.add(entry):
            openings.append(opening)
            if opening.number > 1:
                groups.append([])
        groups[-1].append(entry)
    if known:
        known[-1] = replace(known[-1], entries=(*known[-1].entries, *groups.pop(0)))
    fresh = (
        _round(opening, group, gap, opening.entry.offset in active)
        for opening, group in zip(openings, groups, strict=False)
    )
    return (*known, *fresh)


def _latest_time(entries: Sequence[Entry], is_agent: bool) -> datetime | None:
    """Return the time of the last message that has one."""
    return next((t for e in reversed(entries) if _is_message(e, is_agent) and (t := e.time)), None)


def _is_message(entry: Entry, is_agent: bool) -> bool:
    if entry.is_sidechain and not is_agent:
        return False
    return entry.type in ("user", "assistant") or starts_turn(entry, is_agent)


def _round(opening: Opening, entries: list[Entry], gap: timedelta, is_active: bool) -> Round:
    features, pause = opening.features, opening.pause
    return Round(
        opening.number,
        opening.entry,
        tuple(entries),
        opening.marks.type(opening.before, gap),
        features.kind(pause, gap),
        features,
        pause.total_seconds() if pause is not None else None,
        is_active,
    )
