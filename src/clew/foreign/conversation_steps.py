"""The steps of another program's conversation, before it becomes a session.

The reader of a format turns records into steps. Records that are not a step are kept unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.wire.json_codec import Json, encode

Content = str | tuple[Json, ...]

INTERRUPTED = "[Request interrupted by user]"  # the text that Claude Code writes


class ForeignPrompt(Struct, frozen=True):
    """A prompt of the user; a note was written by the program for the model."""

    content: Content
    time: datetime | None = None
    is_note: bool = False
    extra: Json = field(default_factory=dict)  # remaining fields of its record


class ForeignCall(Struct, frozen=True):
    """A tool call, under the other program's tool name."""

    id: str
    name: str
    input: Json
    extra: Json = field(default_factory=dict)


class ForeignReply(Struct, frozen=True):
    """One reply of the model: texts, signed thinking and calls, in order. A text may have its own `extra`."""

    parts: tuple[Json | ForeignCall, ...]
    time: datetime | None = None
    model: str = ""
    usage: Json = field(default_factory=dict)


class CallOutcome(Struct, frozen=True):
    """The result of a call; `aside` is additional data that the program recorded."""

    call: str
    content: Content
    is_error: bool = False
    time: datetime | None = None
    aside: Any = None


class ForeignSummary(Struct, frozen=True):
    """A compaction: from here on the model saw this text instead of everything before."""

    text: str
    time: datetime | None = None


class OtherRecord(Struct, frozen=True):
    """A record that is not part of the conversation."""

    kind: str
    original: Any
    time: datetime | None = None


Step = ForeignPrompt | ForeignReply | CallOutcome | ForeignSummary | OtherRecord


class Conversation(Struct, frozen=True):
    """A conversation of another program. Its `id` is that program's, or derived from its path."""

    tool: str
    id: str
    path: str
    steps: tuple[Step, ...]
    version: str = ""
    cwd: str = ""
    branch: str = ""
    title: str = ""
    problems: tuple[str, ...] = ()

    @property
    def turns(self) -> int:
        return sum(isinstance(step, ForeignPrompt) and not step.is_note for step in self.steps)

    @property
    def is_empty(self) -> bool:
        return not any(isinstance(step, ForeignPrompt | ForeignReply) for step in self.steps)

    @property
    def last_time(self) -> datetime | None:
        return next((step.time for step in reversed(self.steps) if step.time), None)

    @property
    def digest(self) -> str:
        """A hash of the steps, which shows whether the conversation has grown."""
        total = sha256()
        for step in self.steps:
            total.update(encode([type(step).__name__, *map(_plain, _field_values(step))]) + b"\n")
        return total.hexdigest()[:32]


def _field_values(step: Step) -> Iterable[Any]:
    return (getattr(step, name) for name in type(step).__struct_fields__ if name != "time")


def _plain(value: Any) -> Any:
    if isinstance(value, ForeignCall):
        return [value.id, value.name, value.input, value.extra]
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


class StepRecorder:
    """Collects steps in the order of the records, and groups the parts of each reply."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.problems: list[str] = []
        self.model = ""
        self.replies = 0
        self._parts: list[Json | ForeignCall] = []
        self._began: datetime | None = None

    def prompt(
        self, content: Content, time: datetime | None = None, *, is_note: bool = False, extra: Json | None = None
    ) -> None:
        self.close()
        if _has_content(content):
            self.steps.append(ForeignPrompt(content, time, is_note, extra or {}))
        elif extra:
            self.keep("empty prompt", extra, time)

    def say(self, text: str, time: datetime | None = None, *, extra: Json | None = None) -> None:
        if text.strip():
            self._add({"type": "text", "text": text, **({"extra": extra} if extra else {})}, time)
        elif extra:
            self.keep("empty text", extra, time)

    def think(self, text: str, time: datetime | None = None, *, signature: str = "", original: Any = None) -> None:
        """Add thinking. Only signed thinking can be sent again; other thinking is kept as a record."""
        if signature and text.strip():
            self._add({"type": "thinking", "thinking": text, "signature": signature}, time)
        elif text.strip() or original is not None:
            self.keep("thinking", original if original is not None else {"text": text}, time)

    def call(
        self, id: str, name: str, arguments: Json, time: datetime | None = None, *, extra: Json | None = None
    ) -> None:
        self._add(ForeignCall(id, name, arguments, extra or {}), time)

    def result(
        self, call: str, content: Content, time: datetime | None = None, *, is_error: bool = False, aside: Any = None
    ) -> None:
        self.close()
        self.steps.append(CallOutcome(call, content, is_error, time, aside))

    def summary(self, text: str, time: datetime | None = None) -> None:
        self.close()
        if text.strip():
            self.steps.append(ForeignSummary(text, time))

    def keep(self, kind: str, original: Any, time: datetime | None = None) -> None:
        """Keep a record that is not a step; it does not end a reply."""
        self.steps.append(OtherRecord(kind, original, time))

    @property
    def has_no_messages(self) -> bool:
        """Return whether there is no prompt or reply yet."""
        return not self._parts and all(isinstance(step, OtherRecord) for step in self.steps)

    @property
    def is_open(self) -> bool:
        """Return whether a reply is being collected."""
        return bool(self._parts)

    def close(self, usage: Json | None = None, model: str = "") -> None:
        """End the current reply, if there is one."""
        if self._parts:
            self.steps.append(ForeignReply(tuple(self._parts), self._began, model or self.model, usage or {}))
            self.replies += 1
        self._parts, self._began = [], None

    def damaged(self, location: str, reason: str) -> None:
        self.problems.append(f"{location}: {reason}")

    def _add(self, part: Json | ForeignCall, time: datetime | None) -> None:
        self._began = self._began or time
        self._parts.append(part)


def _has_content(content: Content) -> bool:
    """Return whether there is more than white space."""
    if isinstance(content, str):
        return bool(content.strip())
    return any(block.get("type") != "text" or str(block.get("text", "")).strip() for block in content)


def assign_usage(steps: Sequence[Step], usages: Sequence[tuple[int, Json]]) -> tuple[Step, ...]:
    """Assign usage records to replies, each given with the number of replies before it.

    If there is one per reply, they belong together in order. Otherwise each is added to the reply before it.
    """
    replies = [index for index, step in enumerate(steps) if isinstance(step, ForeignReply)]
    assigned = list(steps)
    for number, (before, usage) in enumerate(usages):
        if not replies:
            break
        at = replies[number if len(usages) == len(replies) else min(max(before - 1, 0), len(replies) - 1)]
        reply = assigned[at]
        if isinstance(reply, ForeignReply):
            assigned[at] = replace(reply, usage=_add_usage(reply.usage, usage))
    return tuple(assigned)


def _add_usage(one: Json, other: Json) -> Json:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
