"""Hand-made sessions: a line for each call, in file order, each below the line before it unless told otherwise.

    s = Script()
    s.user("u1")
    asked = s.reply(use("t1"), mid="m1")      # every verb gives the uuid of its line
    s.reply(use("t2"), mid="m1")
    s.result("t1", parent=asked)
    s.data()

Unlike `clew.demo` this is not about plausible sessions but about odd ones: no verb checks anything, any field can be given
by name, and `lines` is a plain list that may be cut and shuffled. The same calls give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.mock_api import Json, text

SESSION = "11111111-1111-4111-8111-111111111111"
NOWHERE = "ffffffff-0000-4000-8000-000000000000"  # the uuid of no line
ABOVE = "(the line before)"
SONNET = "claude-sonnet-4-5-20250929"
OPUS = "claude-opus-5-5"  # takes system turns among the messages, which SONNET does not
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

Content = str | Sequence[Any] | None


# Blocks


def use(call: str, tool: str = "Read", /, **arguments: Any) -> Json:
    return {"type": "tool_use", "id": call, "name": tool, "input": arguments or {"file_path": "/x"}}


def think(thought: str) -> Json:
    return {"type": "thinking", "thinking": thought, "signature": "SIG"}


def answer(call: str, content: Content = "r", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def image() -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


def reminder(words: str) -> str:
    return f"<system-reminder>\n{words}\n</system-reminder>"


def uuid(number: int) -> str:
    """The uuid of the line with this number, counted from 1; lines without a uuid do not count."""
    return f"{number:08d}-0000-4000-8000-000000000000"


def second(number: float) -> str:
    """The time so many seconds after the beginning."""
    moment = datetime(2026, 1, 3, 10, tzinfo=UTC) + timedelta(seconds=number)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


Clock = Callable[[int, str], str]  # the time of the line with a number, by its type


def dense(number: int, kind: str) -> str:
    """One second after the line before."""
    return second(number)


class Lifelike:
    """As in life: minutes or hours before a prompt, seconds before everything else; the same for the same calls."""

    def __init__(self) -> None:
        self._at = 0.0

    def __call__(self, number: int, kind: str) -> str:
        self._at += (
            (47.25, 1380.5, 7.125, 16200.0, 212.75)[number % 5] if kind == "user" else (8.4, 2.2, 31.6)[number % 3]
        )
        return second(self._at)


class Script:
    """A session file in the making."""

    def __init__(self, session: str = SESSION, clock: Clock = dense) -> None:
        self.session = session
        self._clock = clock
        self.lines: list[Json | bytes] = []
        self.last: str | None = None  # the line that the next one hangs below
        self.model = SONNET  # of the replies to come
        self._made = 0

    def data(self) -> bytes:
        return b"".join(map(written, self.lines))

    def ahead(self, count: int = 1) -> str:
        """The uuid of the next line, or of the one `count` lines on."""
        return uuid(self._made + count)

    # Lines of the conversation

    def add(
        self,
        kind: str,
        body: Json | None = None,
        *,
        parent: str | None = ABOVE,
        uuid: str | None = None,
        timestamp: Any = None,
        **fields: Any,
    ) -> str:
        """A line of any type, with a uuid and a place in the tree."""
        mine = uuid or self.ahead()
        self._made += 1
        entry = {
            "parentUuid": self.last if parent == ABOVE else parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/proj",
            "sessionId": self.session,
            "version": "2.1.29",
            "gitBranch": "main",
            "type": kind,
            "uuid": mine,
            "timestamp": self._clock(self._made, kind) if timestamp is None else timestamp,
        }
        self.lines.append(entry | (body or {}) | fields)
        self.last = mine
        return mine

    def user(self, content: Content, **fields: Any) -> str:
        return self.add("user", {"message": {"role": "user", "content": content}}, **fields)

    def reply(self, *said: str | Json, mid: str | None = None, model: str | None = None, **fields: Any) -> str:
        """A line of the model's; lines with the same `mid` are one reply."""
        message = {
            "model": model or self.model,
            "id": mid or f"msg_{self._made + 1:03d}",
            "type": "message",
            "role": "assistant",
            "content": [text(part) if isinstance(part, str) else part for part in said],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 5},
        }
        return self.add("assistant", {"message": message}, **fields)

    def result(self, call: str, content: Content = "r", *, error: bool | None = None, **fields: Any) -> str:
        """The answer of one call, on a line of its own."""
        more = {} if error is None else {"is_error": error}
        return self.user([answer(call, content, **more)], **fields)

    def turns(self, count: int) -> None:
        """So many prompts, each with its reply: u1, a1, u2, a2."""
        for number in range(1, count + 1):
            self.user(f"u{number}")
            self.reply(f"a{number}")

    def attach(
        self, kind: str, *rendered: Content, role: str = "user", inside: Json | None = None, **fields: Any
    ) -> str:
        """An attachment; `rendered` is what the model got to read of it, `inside` what it consists of."""
        body: Json = {"attachment": {"type": kind, **(inside or {})}}
        if rendered:
            body |= {"rendered": [{"content": part} for part in rendered], "renderedRole": role}
        return self.add("attachment", body, **fields)

    def system(self, subtype: str, content: str = "c", **fields: Any) -> str:
        return self.add("system", {"subtype": subtype, "content": content, "level": "info"}, **fields)

    def progress(self, **fields: Any) -> str:
        body = {"data": {"type": "hook_progress"}, "toolUseID": "x", "parentToolUseID": "x"}
        return self.add("progress", body, **fields)

    def compact(
        self,
        summary: str,
        *,
        segment: tuple[str, str] | None = None,
        messages: Sequence[str] = (),
        anchor: str | None = None,
    ) -> str:
        """A boundary and its summary, which may preserve a segment (its first and last line) or some messages.

        They go behind the anchor: the summary, unless another line is named. The uuid is the boundary's.
        """
        anchor = anchor or self.ahead(2)
        made: Json = {"trigger": "auto", "preTokens": 1}
        if segment:
            made["preservedSegment"] = {"headUuid": segment[0], "anchorUuid": anchor, "tailUuid": segment[1]}
        if messages:
            made["preservedMessages"] = {"anchorUuid": anchor, "uuids": [*messages], "allUuids": [*messages]}
        boundary = self.system("compact_boundary", parent=None, logicalParentUuid=self.last, compactMetadata=made)
        self.user(summary, isCompactSummary=True)
        return boundary

    # Other lines

    def pin(self, leaf: str | None = None, **fields: Any) -> None:
        """A last-prompt line; it names the leaf to resume from, if any."""
        named = {"leafUuid": leaf} if leaf else {}
        self.line({"type": "last-prompt", "lastPrompt": "p", **named, "sessionId": self.session, **fields})

    def line(self, said: Json | bytes) -> None:
        """Anything, as it is."""
        self.lines.append(said)

    def take(self) -> bytes:
        """The last line, taken away again: its JSON without the newline."""
        return written(self.lines.pop()).rstrip(b"\n")

    def edit(self, index: int, **fields: Any) -> None:
        """Change fields of a line that is there already."""
        self.lines[index] = self.copy(index, **fields)

    def copy(self, index: int, **fields: Any) -> Json:
        entry = self.lines[index]
        assert isinstance(entry, dict), "bytes have no fields"
        return entry | fields

    def move(self, index: int, to: int | None = None) -> None:
        """Put a line elsewhere in the file: at the end, unless told."""
        entry = self.lines.pop(index)
        self.lines.insert(len(self.lines) if to is None else to, entry)


def written(said: Json | bytes) -> bytes:
    return said if isinstance(said, bytes) else json.dumps(said).encode() + b"\n"


# Cases

Tell = Callable[[Script], None]


class Theme(dict[str, Tell]):
    """The cases of one theme, by name. As a decorator it takes a function in under its own name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __call__(self, tell: Tell) -> Tell:
        return self.put(tell.__name__, tell)

    def put(self, name: str, tell: Tell) -> Tell:
        assert name not in self, f"there are two cases {name}"
        self[name] = tell
        return tell


def told(tell: Tell, session: str = SESSION, clock: Clock = dense) -> bytes:
    """The file of a case."""
    script = Script(session, clock)
    tell(script)
    return script.data()
