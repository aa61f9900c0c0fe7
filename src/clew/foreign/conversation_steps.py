"""Steps: what was said in another program's conversation, before it becomes a session.

A reader of a format turns records into steps, one after another. What has no place among them is kept as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from clew.wire.json_codec import Json, encode

Content = str | tuple[Json, ...]

INTERRUPTED = "[Request interrupted by user]"  # as Claude Code marks it


@dataclass(frozen=True, slots=True)
class ForeignPrompt:
    """What a person said; a note is for the model and was written by the program."""

    content: Content
    time: datetime | None = None
    is_note: bool = False
    extra: Json = field(default_factory=dict)  # what else its record says


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """A tool use, under the name that the other program gave the tool."""

    id: str
    name: str
    input: Json
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignReply:
    """One answer of the model: texts, signed thoughts and calls, in order. A text may have an `extra` of its own."""

    parts: tuple[Json | ForeignCall, ...]
    time: datetime | None = None
    model: str = ""
    usage: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came of a call; `aside` is what the program told of it beside the output."""

    call: str
    content: Content
    is_error: bool = False
    time: datetime | None = None
    aside: Any = None


@dataclass(frozen=True, slots=True)
class ForeignSummary:
    """From here on the model knew this text instead of what stands before."""

    text: str
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class OtherRecord:
    """A record that is not part of what was said."""

    kind: str
    original: Any
    time: datetime | None = None


Step = ForeignPrompt | ForeignReply | CallOutcome | ForeignSummary | OtherRecord


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of another program. Its `id` is that program's own, or made of the place where it lies."""

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
        """The same for the same steps: by it a conversation that grew is known."""
        total = sha256()
        for step in self.steps:
            total.update(encode([type(step).__name__, *map(_plain, _values(step))]) + b"\n")
        return total.hexdigest()[:32]


def _values(step: Step) -> Iterable[Any]:
    return (getattr(step, name) for name in type(step).__slots__ if name != "time")


def _plain(value: Any) -> Any:
    if isinstance(value, ForeignCall):
        return [value.id, value.name, value.input, value.extra]
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


class Scribe:
    """Takes down steps in the order of the records, and gathers the parts of each reply."""

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
        if _says(content):
            self.steps.append(ForeignPrompt(content, time, is_note, extra or {}))
        elif extra:
            self.keep("empty prompt", extra, time)

    def say(self, text: str, time: datetime | None = None, *, extra: Json | None = None) -> None:
        if text.strip():
            self._add({"type": "text", "text": text, **({"extra": extra} if extra else {})}, time)
        elif extra:
            self.keep("empty text", extra, time)

    def think(self, text: str, time: datetime | None = None, *, signature: str = "", original: Any = None) -> None:
        """A thought. Only a signed one can be sent again; any other is kept beside."""
        if signature and text.strip():
            self._add({"type": "thinking", "thinking": text, "signature": signature}, time)
        elif text.strip() or original is not None:
            self.keep("thinking", original if original is not None else {"text": text}, time)

    def call(self, id: str, name: str, given: Json, time: datetime | None = None, *, extra: Json | None = None) -> None:
        self._add(ForeignCall(id, name, given, extra or {}), time)

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
        """What is no step; it does not end a reply."""
        self.steps.append(OtherRecord(kind, original, time))

    @property
    def is_untouched(self) -> bool:
        """Whether nobody has said anything yet."""
        return not self._parts and all(isinstance(step, OtherRecord) for step in self.steps)

    @property
    def is_open(self) -> bool:
        """Whether a reply is being taken down."""
        return bool(self._parts)

    def close(self, usage: Json | None = None, model: str = "") -> None:
        """End the reply that is being taken down, if there is one."""
        if self._parts:
            self.steps.append(ForeignReply(tuple(self._parts), self._began, model or self.model, usage or {}))
            self.replies += 1
        self._parts, self._began = [], None

    def damaged(self, where: str, reason: str) -> None:
        self.problems.append(f"{where}: {reason}")

    def _add(self, part: Json | ForeignCall, time: datetime | None) -> None:
        self._began = self._began or time
        self._parts.append(part)


def _says(content: Content) -> bool:
    """Whether there is more than white space in it."""
    if isinstance(content, str):
        return bool(content.strip())
    return any(block.get("type") != "text" or str(block.get("text", "")).strip() for block in content)


def with_usage(steps: Sequence[Step], found: Sequence[tuple[int, Json]]) -> tuple[Step, ...]:
    """The steps with what was told of usage, each at the number of replies that stood before it.

    If there is one for each reply they belong together in order. Else each goes to the reply before it, and adds up.
    """
    replies = [index for index, step in enumerate(steps) if isinstance(step, ForeignReply)]
    made = list(steps)
    for number, (before, usage) in enumerate(found):
        if not replies:
            break
        at = replies[number if len(found) == len(replies) else min(max(before - 1, 0), len(replies) - 1)]
        reply = made[at]
        assert isinstance(reply, ForeignReply)
        made[at] = replace(reply, usage=_sum(reply.usage, usage))
    return tuple(made)


def _sum(one: Json, other: Json) -> Json:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
