"""Means: what a conversation works with. It is one value, made before the work starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from clew.api.client import Client
from clew.chat.cost import ConversationCost
from clew.chat.events import Tell
from clew.chat.hooks.runner import HookOutcome
from clew.chat.permission.decision import Decision, Mode
from clew.chat.tools.builtin.use_skill import Skills
from clew.chat.tools.tool import Tool
from clew.wire.json_codec import Json


class Permits(Protocol):
    """Whoever decides calls."""

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision: ...


class HookRunner(Protocol):
    """Whoever runs hooks."""

    async def run(self, event: str, payload: Json) -> HookOutcome: ...


class Anything:
    """Allows every call: for whoever skips permissions."""

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        return Decision("allow")


class Unhooked:
    """No hooks."""

    async def run(self, event: str, payload: Json) -> HookOutcome:
        return HookOutcome()


@dataclass(frozen=True, slots=True)
class ConversationLimits:
    """How far a conversation may go."""

    turns: int | None = None  # replies to one prompt
    dollars: float | None = None
    output: int = 0  # tokens of one reply; 0 for as many as the model can give
    at_once: int = 10  # calls that change nothing
    grace: float = 3.0  # seconds that a call has to finish when the person breaks off
    window: int = 0  # tokens; 0 for the window of the model
    compacts: bool = True  # by itself, when the window is nearly full


@dataclass(frozen=True)
class Deps:
    client: Client
    tools: Mapping[str, Tool]
    tell: Tell
    tally: ConversationCost
    system: Sequence[Json] = ()
    permits: Permits = field(default_factory=Anything)
    hooks: HookRunner = field(default_factory=Unhooked)
    can_ask: bool = False  # whether somebody answers what is asked
    limits: ConversationLimits = field(default_factory=ConversationLimits)
    context: Callable[[], str] = lambda: (
        ""
    )  # facts that change: for the first user message, never for the system prompt
    thinking: Json | None = None
    fallback: str = ""
    small_model: str = ""  # for errands that need no great one
    skills: Skills | None = None  # for agents that have read some when they begin
    nearby: Callable[[Path], str] = lambda path: ""  # what the model is told besides, when it reads a file
    stopwatch: Callable[[], float] = time.monotonic  # seconds, for what the file says of how long things took
