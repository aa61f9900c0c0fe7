"""Events that an engine reports while it runs, and requests that its front end must answer.

`agent` is the id of the tool call that started the subagent an event comes from; it is empty for the main
conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from clew.chat.config.permission_mode import Mode
from clew.chat.permission.decision import Decision
from clew.chat.tools.tool import CallResult, Content
from clew.wire.json_codec import Json

Ending = Literal[
    "success",
    "error_max_turns",
    "error_max_budget_usd",
    "error_max_structured_output_retries",
    "error_during_execution",
]


class Event(Struct, frozen=True, kw_only=True):
    """Base of all events."""

    agent: str = ""


class TurnStarted(Event, frozen=True, kw_only=True):
    """A turn starts; carries the session, folder, model, permission mode and tools."""

    session_id: str
    cwd: str
    model: str
    mode: str
    tools: Sequence[str]


class PromptRecorded(Event, frozen=True, kw_only=True):
    """A user prompt has been written to the session file."""

    uuid: str
    content: Content
    is_queued: bool = False  # it was queued while a turn was running


class StreamEvent(Event, frozen=True, kw_only=True):
    """A raw event of the API stream."""

    event: Json


class BlockCompleted(Event, frozen=True, kw_only=True):
    """A block of a reply is complete; `message` is the reply with this block alone."""

    uuid: str
    message: Json
    request_id: str = ""  # as the API names the request


class ReplyCompleted(Event, frozen=True, kw_only=True):
    """A reply is complete: its stop reason and usage."""

    message_id: str
    model: str
    stop_reason: str | None
    usage: Json


class CallStarted(Event, frozen=True, kw_only=True):
    """A tool call is about to run."""

    call_id: str
    name: str
    input: Json


class CallProgressed(Event, frozen=True, kw_only=True):
    """A running tool call reports progress."""

    call_id: str
    data: Json


class CallFinished(Event, frozen=True, kw_only=True):
    """A tool call has its result."""

    uuid: str
    call_id: str
    name: str
    result: CallResult


class CallDenied(Event, frozen=True, kw_only=True):
    """A tool call is denied without asking the user: by a rule, a mode, or because no one can be asked."""

    call_id: str
    name: str
    message: str


class RequestingAgent(Struct, frozen=True):
    """The subagent that requests a permission."""

    id: str
    kind: str
    description: str


class PermissionRequested(Event, frozen=True, kw_only=True):
    """A tool call needs the user's permission. The front end sets the result of `answer`: a decision to allow or
    deny, optionally with another input or a message.

    `folder` is the working directory of the call; `asker` is the subagent that requests it, None for the main
    conversation.
    """

    call_id: str
    name: str
    input: Json
    decision: Decision
    answer: asyncio.Future[Decision]
    folder: str
    mode: Mode = "default"
    asker: RequestingAgent | None = None


class QuestionRequested(Event, frozen=True, kw_only=True):
    """The model asks the user. The front end sets the result of `answer`."""

    call_id: str
    questions: Sequence[Json]
    answer: asyncio.Future[Mapping[str, Any]]


class RequestRetried(Event, frozen=True, kw_only=True):
    """A request to the API failed and is sent again after `delay` seconds."""

    number: int
    of: int
    delay: float
    message: str
    status: int | None


class Notice(Event, frozen=True, kw_only=True):
    """A message for the user."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    hook: str = ""  # the hook whose message it is, such as `PreToolUse:Bash`


class HookStarted(Event, frozen=True, kw_only=True):
    """A hook of the settings starts."""

    hook_id: str
    hook_event: str
    hook_name: str  # the event and what it is about, such as `PreToolUse:Bash`


class HookFinished(HookStarted, frozen=True, kw_only=True):
    """A hook of the settings has ended; without a code it was stopped because it took too long."""

    stdout: str
    stderr: str
    code: int | None = None


class RequestStarted(Event, frozen=True, kw_only=True):
    """A request for a reply is sent."""


class CompactionStarted(Event, frozen=True, kw_only=True):
    """The conversation is being summarised."""


class CompactionEnded(Event, frozen=True, kw_only=True):
    """A compaction is over; `ConversationCompacted` follows one that succeeded."""

    is_success: bool


class CommandOutput(Event, frozen=True, kw_only=True):
    """What a slash command printed."""

    text: str


class ConversationCompacted(Event, frozen=True, kw_only=True):
    """The conversation was replaced by a summary; `before` and `after` are its sizes in tokens."""

    uuid: str
    trigger: str
    before: int
    after: int
    summary: str


class AgentStarted(Event, frozen=True, kw_only=True):
    """A subagent starts."""

    agent_id: str
    kind: str
    description: str
    prompt: str
    is_background: bool


class AgentFinished(Event, frozen=True, kw_only=True):
    """A subagent has ended."""

    agent_id: str
    status: Literal["completed", "failed", "stopped"]
    summary: str
    usage: Json
    is_background: bool = False
    output_file: str = ""


class TaskBackgrounded(Event, frozen=True, kw_only=True):
    """A command or subagent continues in the background from now on."""

    task_id: str
    call_id: str
    kind: str  # local_bash or local_agent
    title: str
    output_file: str


class TaskFinished(Event, frozen=True, kw_only=True):
    """A background task has ended, possibly while no turn runs. The model is told later: `TaskReported`."""

    task_id: str
    call_id: str
    kind: str
    status: str  # completed, failed or killed
    summary: str
    output_file: str
    exit_code: int | None = None


class TaskReported(Event, frozen=True, kw_only=True):
    """The model is told how a background task ended. The text was not written by the user."""

    uuid: str
    task_id: str
    text: str


class StopBlocked(Event, frozen=True, kw_only=True):
    """A Stop hook wants more to be done: the model gets its text and continues."""

    uuid: str
    text: str


class TurnFinished(Event, frozen=True, kw_only=True):
    """A turn is over: how it ended, its final text and its usage."""

    ending: Ending
    text: str
    turns: int  # messages to the model: the prompt, every tool result, and what Stop hooks said
    milliseconds: int
    api_milliseconds: int
    usage: Json  # of the session so far
    turn_usage: Json = {}  # of the replies of this turn, without those of subagents
    models: Mapping[str, Json]
    cost: float | None  # in dollars; None if the price of a model is unknown
    stop_reason: str | None = None
    denials: Sequence[Json] = ()
    errors: Sequence[str] = ()
    status: int | None = None  # HTTP status of the API, if it failed
    is_interrupted: bool = False
    structured_output: Json | None = None  # the answer in the form of the schema, if one was asked for
    end_reason: Literal["", "hook_stopped", "stop_hook_prevented"] = ""  # which hook ended the turn

    @property
    def is_error(self) -> bool:
        return self.ending != "success" or bool(self.errors)


Emit = Callable[[Event], None]
