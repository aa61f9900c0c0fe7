"""Tools: what the model may call. A tool is a value with a name, a schema and one function.

A tool knows nothing of permissions, hooks or the journal: whoever calls it has asked. All that it may touch beyond its
input is in the `Scene`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from clew.wire.json_codec import Json

Content = str | Sequence[Json]


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a call: what the model is told, and the program's own record of it (`toolUseResult`)."""

    content: Content
    detail: Any = None
    is_error: bool = False
    notes: tuple[Content, ...] = ()  # texts for the model that stand behind the result, as entries of their own


class ToolFailed(Exception):
    """A call that could not be done. `text` goes to the model; `is_misuse` if the call itself was wrong."""

    def __init__(self, text: str, *, is_misuse: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.is_misuse = is_misuse


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as the model last saw it."""

    mtime_ns: int
    digest: str
    is_whole: bool = True


@dataclass
class ToolState:
    """What outlives a call within a session: shared by all calls of a conversation, and by nobody else."""

    cwd: Path
    project: Path
    roots: tuple[Path, ...]  # the folders that count as the project's own
    seen: dict[Path, Seen] = field(default_factory=dict)
    todos: list[Json] = field(default_factory=list)
    background: dict[str, Any] = field(default_factory=dict)  # commands and agents beside it, by their ids
    told: set[str] = field(default_factory=set)  # those of them whose end the model knows already
    profile: Any = None  # what every command begins with, if there is anything
    plan: Path | None = None  # the file that a plan is written to, while there is one
    is_trusted: bool = False  # whether the person trusts the project


Progress = Callable[[Json], Awaitable[None]]
Ask = Callable[[Sequence[Json]], Awaitable[Mapping[str, Any]]]
Errand = Callable[[Json, "ToolContext"], Awaitable[CallResult]]
Extract = Callable[[str, str], Awaitable[str]]


async def _silent(data: Json) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True)
class ToolContext:
    """Where a call takes place. What is None is not to be had here, and a tool that needs it fails and says so."""

    call_id: str
    session_id: str
    folder: Path  # of the session: long outputs go to `tool-results/` in it
    state: ToolState
    stopped: asyncio.Event  # set when the person broke off: finish at once, and say what there is
    progress: Progress = _silent
    before_change: Callable[[Path], None] = lambda path: None  # called with a file's path before it is touched
    ask: Ask | None = None  # put questions to the person
    send: Errand | None = None  # begin an agent
    extract: Extract | None = None  # ask a small model about a text
    aside: asyncio.Event | None = None  # set when the person sends what is waited for to the background
    left: Callable[[Any], None] = lambda task: None  # called with what goes on in the background from now on
    planning: Callable[[bool], Awaitable[None]] | None = None  # begin to plan, or end it


class Tool(Protocol):
    """One tool. `schema` is the JSON Schema of its input; what it does not allow is refused before the call."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def schema(self) -> Json: ...

    def is_read_only(self, input: Json) -> bool:
        """Whether the call changes nothing: such calls may run side by side."""
        ...

    async def call(self, input: Json, scene: ToolContext) -> CallResult: ...
