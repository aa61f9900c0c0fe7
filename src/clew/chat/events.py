"""Events: what the engine tells its doors, as it happens. A door only listens, and answers what is asked.

`agent` is the call that began the agent an event comes from; empty for the conversation itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from clew.chat.permission.decision import Decision, Mode
from clew.chat.tools.tool import CallResult, Content
from clew.wire.json_codec import Json

Ending = Literal["success", "error_max_turns", "error_max_budget_usd", "error_during_execution"]


class Event(Struct, frozen=True, kw_only=True):
    agent: str = ""


class Begun(Event, frozen=True, kw_only=True):
    """A turn begins: where, with what."""

    session_id: str
    cwd: str
    model: str
    mode: str
    tools: Sequence[str]


class Prompted(Event, frozen=True, kw_only=True):
    """A person's words are written down."""

    uuid: str
    content: Content
    is_queued: bool = False  # it was said while the model was busy


class Streamed(Event, frozen=True, kw_only=True):
    """A raw event of the stream."""

    event: Json


class BlockSaid(Event, frozen=True, kw_only=True):
    """A block of a reply is complete; `message` is the reply with this block alone."""

    uuid: str
    message: Json


class Replied(Event, frozen=True, kw_only=True):
    """A reply is whole: why it stopped, and what it took."""

    message_id: str
    model: str
    stop_reason: str | None
    usage: Json


class Called(Event, frozen=True, kw_only=True):
    """A call is about to be run."""

    call_id: str
    name: str
    input: Json


class Progressed(Event, frozen=True, kw_only=True):
    call_id: str
    data: Json


class Answered(Event, frozen=True, kw_only=True):
    """A call has its result."""

    uuid: str
    call_id: str
    name: str
    result: CallResult


class AskingAgent(Struct, frozen=True):
    """The agent that asks for a permission."""

    id: str
    kind: str
    description: str


class PermissionAsked(Event, frozen=True, kw_only=True):
    """May this call be made? Set the result of `answer`: allow or deny, with another input or a message if wanted.

    `folder` is where the call would run; `asker` is the agent that wants it, None for the conversation itself."""

    call_id: str
    name: str
    input: Json
    decision: Decision
    answer: asyncio.Future[Decision]
    folder: str
    mode: Mode = "default"
    asker: AskingAgent | None = None


class QuestionAsked(Event, frozen=True, kw_only=True):
    """The model asks the person. Set the result of `answer`."""

    call_id: str
    questions: Sequence[Json]
    answer: asyncio.Future[Mapping[str, Any]]


class Retried(Event, frozen=True, kw_only=True):
    """The API failed and is asked again."""

    number: int
    of: int
    delay: float
    message: str
    status: int | None


class Noted(Event, frozen=True, kw_only=True):
    """A remark for the person."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


class CompactionDone(Event, frozen=True, kw_only=True):
    """The conversation goes on from a summary."""

    uuid: str
    trigger: str
    before: int
    after: int
    summary: str


class AgentBegun(Event, frozen=True, kw_only=True):
    agent_id: str
    kind: str
    description: str
    prompt: str
    is_background: bool


class AgentEnded(Event, frozen=True, kw_only=True):
    agent_id: str
    status: Literal["completed", "failed", "stopped"]
    summary: str
    usage: Json
    is_background: bool = False
    output_file: str = ""


class TaskLeft(Event, frozen=True, kw_only=True):
    """A command or an agent goes on in the background from now on."""

    task_id: str
    call_id: str
    kind: str  # local_bash or local_agent
    title: str
    output_file: str


class TaskEnded(Event, frozen=True, kw_only=True):
    """Something in the background has ended. It may come while no turn runs. The model hears of it later: `Notified`."""

    task_id: str
    call_id: str
    kind: str
    status: str  # completed, failed or killed
    summary: str
    output_file: str
    exit_code: int | None = None


class Notified(Event, frozen=True, kw_only=True):
    """The model is told how something in the background ended. No person said these words."""

    uuid: str
    task_id: str
    text: str


class TurnFinished(Event, frozen=True, kw_only=True):
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
