"""Events: what the engine tells its doors, as it happens. A door only listens, and answers what is asked.

`agent` is the call that began the agent an event comes from; empty for the conversation itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from clew.chat.permission.decision import Decision
from clew.chat.tool import Content, Json, Result

Ending = Literal["success", "error_max_turns", "error_max_budget_usd", "error_during_execution"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun(Event):
    """A turn begins: where, with what."""

    session_id: str
    cwd: str
    model: str
    mode: str
    tools: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted(Event):
    """A person's words are written down."""

    uuid: str
    content: Content
    is_queued: bool = False  # it was said while the model was busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed(Event):
    """A raw event of the stream."""

    event: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Event):
    """A block of a reply is complete; `message` is the reply with this block alone."""

    uuid: str
    message: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied(Event):
    """A reply is whole: why it stopped, and what it took."""

    message_id: str
    model: str
    stop_reason: str | None
    usage: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Event):
    """A call is about to be run."""

    call_id: str
    name: str
    input: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressed(Event):
    call_id: str
    data: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Event):
    """A call has its result."""

    uuid: str
    call_id: str
    name: str
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionAsked(Event):
    """May this call be made? Set the result of `answer`: allow or deny, with another input or a message if wanted."""

    call_id: str
    name: str
    input: Json
    decision: Decision
    answer: asyncio.Future[Decision] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(Event):
    """The model asks the person. Set the result of `answer`."""

    call_id: str
    questions: Sequence[Json]
    answer: asyncio.Future[Mapping[str, Any]] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(Event):
    """The API failed and is asked again."""

    number: int
    of: int
    delay: float
    message: str
    status: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """A remark for the person."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted(Event):
    """The conversation goes on from a summary."""

    uuid: str
    trigger: str
    before: int
    after: int
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBegun(Event):
    agent_id: str
    kind: str
    description: str
    prompt: str
    is_background: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnded(Event):
    agent_id: str
    status: Literal["completed", "failed", "stopped"]
    summary: str
    usage: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Event):
    """A turn is over: how, with what words, and what it took."""

    ending: Ending
    text: str
    turns: int
    milliseconds: int
    api_milliseconds: int
    usage: Json
    models: Mapping[str, Json]
    cost: float | None  # dollars; None if a model has no price
    stop_reason: str | None = None
    denials: Sequence[Json] = ()
    errors: Sequence[str] = ()
    status: int | None = None  # of the API, if that failed
    is_interrupted: bool = False

    @property
    def is_error(self) -> bool:
        return self.ending != "success" or bool(self.errors)


Tell = Callable[[Event], None]
