"""Define the interface of tools: a value with a name, a schema and one function.

A tool does not check permissions, run hooks or write the journal; its caller does. Everything that a tool may use
besides its input is in `ToolContext`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from clew.wire.json_codec import Json

if TYPE_CHECKING:
    import asyncio

Content = str | Sequence[Json]


def text_of(content: Content) -> str:
    """Return the text blocks of a content, joined by line breaks."""
    if isinstance(content, str):
        return content
    return "\n".join(str(b["text"]) for b in content if b.get("type") == "text" and "text" in b)


class CallResult(Struct, frozen=True):
    """The result of a call: the content for the model, and the record for the session file (`toolUseResult`)."""

    content: Content
    detail: Any = None
    is_error: bool = False
    notes: tuple[Content, ...] = ()  # further texts for the model, as separate entries after the result


class ToolFailed(Exception):
    """A call failed. `text` is sent to the model; `is_misuse` if the call itself was wrong."""

    def __init__(self, text: str, *, is_misuse: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.is_misuse = is_misuse


class ReadFile(Struct, frozen=True):
    """A file as the model last read it."""

    mtime_ns: int
    digest: str
    is_whole: bool = True


class ToolState(Struct):
    """State shared by all calls of one conversation."""

    cwd: Path
    project: Path
    roots: tuple[Path, ...]  # the working folders of the project
    seen: dict[Path, ReadFile] = field(default_factory=dict)
    todos: list[Json] = field(default_factory=list)
    background: dict[str, Any] = field(default_factory=dict)  # background commands and agents by id
    reported_tasks: set[str] = field(default_factory=set)  # ids of those whose end was reported to the model
    profile: Any = None  # the ShellProfile, if any
    plan: Path | None = None  # the plan file in plan mode
    is_trusted: bool = False  # whether the user trusts the project
    variables: Mapping[str, str] = field(default_factory=dict)  # of the settings, for commands


Progress = Callable[[Json], Awaitable[None]]
Ask = Callable[[Sequence[Json]], Awaitable[Mapping[str, Any]]]
RunAgent = Callable[[Json, "ToolContext"], Awaitable[CallResult]]
Extract = Callable[[str, str], Awaitable[str]]
SearchWeb = Callable[[str, Sequence[str], Sequence[str]], Awaitable[Sequence[Json]]]


async def _ignore_progress(data: Json) -> None:
    """Discard progress reports."""


class ToolContext(Struct, frozen=True):
    """The environment of a call. A tool that needs a field that is None fails with a clear message."""

    call_id: str
    session_id: str
    folder: Path  # of the session: long outputs go to `tool-results/` in it
    state: ToolState
    stopped: asyncio.Event  # set when the user interrupts: return immediately with the result so far
    progress: Progress = _ignore_progress
    before_change: Callable[[Path], None] = lambda path: None  # called with a file's path before it is touched
    ask: Ask | None = None  # ask the user questions
    send: RunAgent | None = None  # run a sub-agent
    extract: Extract | None = None  # let a small model answer a question about a text
    search: SearchWeb | None = None  # let the server search the web: query, allowed and blocked domains; blocks
    aside: asyncio.Event | None = None  # set when the user moves the running call to the background
    left: Callable[[Any], None] = lambda task: None  # called with a task that continues in the background
    planning: Callable[[bool], Awaitable[None]] | None = None  # enter or leave plan mode


class Tool(Protocol):
    """One tool. `schema` is the JSON Schema of its input; an input that does not match is refused before the call."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def schema(self) -> Json: ...

    def is_read_only(self, input: Json) -> bool:
        """Return True if the call changes nothing; such calls may run in parallel."""
        ...

    async def check(self, input: Json, scene: ToolContext) -> None:
        """Raise ToolFailed if the call cannot succeed, such as an edit of a text that is not in the file.

        It changes nothing, and runs before hooks and before the user is asked.
        """
        ...

    async def call(self, input: Json, scene: ToolContext) -> CallResult: ...
