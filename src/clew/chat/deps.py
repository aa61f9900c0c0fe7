"""Dependencies of a conversation: client, tools, permissions, hooks and limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from clew.api.client import Client
from clew.chat.config.permission_mode import Mode
from clew.chat.cost import ConversationCost
from clew.chat.events import Emit
from clew.chat.hooks.runner import HookOutcome
from clew.chat.permission.decision import Decision
from clew.chat.tools.builtin.structured_output import StructuredOutput
from clew.chat.tools.builtin.use_skill import Skills
from clew.chat.tools.tool import Tool
from clew.wire.json_codec import Json


class PermissionPolicy(Protocol):
    """Decides whether a tool call may run."""

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision: ...

    def apply(self, update: Json) -> Mode | None:
        """Apply a permission update; return the new mode if it sets one. Raises ClewError, OSError."""
        ...


class HookRunner(Protocol):
    """Runs the hooks of an event."""

    async def run(self, event: str, payload: Json) -> HookOutcome: ...

    def take_late(self) -> tuple[str, ...]:
        """Return what hooks in the background have said for the model since the last call."""
        ...


class AllowAll:
    """Allow every call."""

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        return Decision("allow")

    def apply(self, update: Json) -> Mode | None:
        return None


class NoHooks:
    """Run no hooks."""

    async def run(self, event: str, payload: Json) -> HookOutcome:
        return HookOutcome()

    def take_late(self) -> tuple[str, ...]:
        return ()


class ConversationLimits(Struct, frozen=True):
    """Limits of a conversation."""

    turns: int | None = None  # most replies to one prompt
    dollars: float | None = None
    output: int = 0  # most tokens of one reply; 0 for the limit of the model
    parallel_calls: int = 10  # most read-only calls that run at the same time
    grace: float = 3.0  # seconds that a call has to finish after an interrupt
    window: int = 0  # in tokens; 0 for the context window of the model
    auto_compact: bool = True  # compact when the context window is nearly full


class Deps(Struct, frozen=True):
    """The dependencies of a conversation."""

    client: Client
    tools: MutableMapping[str, Tool]
    emit: Emit
    cost: ConversationCost
    system: Sequence[Json] = ()
    permissions: PermissionPolicy = field(default_factory=AllowAll)
    hooks: HookRunner = field(default_factory=NoHooks)
    can_prompt_user: bool = False  # whether a user answers permission requests and questions
    limits: ConversationLimits = field(default_factory=ConversationLimits)
    # Session facts for the first user message. They are not in the system prompt, so that it can be cached.
    context: Callable[[], str] = lambda: ""
    output: StructuredOutput | None = None  # takes the answer, if it must have the form of a schema
    fallback: str = ""
    small_model: str = ""  # for small side requests, such as reading a web page
    tool_aliases: Mapping[str, str] = field(default_factory=dict)  # names that the model may use for other tools
    skills: Skills | None = None  # source of the skills that subagents preload
    # The memory files to send when the model reads a path; with them, and with those at the start, what hooks are told.
    nested_memory: Callable[[Path], tuple[str, Sequence[Json]]] = lambda path: ("", ())
    first_memory: Sequence[Json] = ()
    stopwatch: Callable[[], float] = time.monotonic  # seconds, for durations in the session file
