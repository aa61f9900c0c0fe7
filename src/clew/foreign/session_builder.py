"""Building a session: the steps of a conversation as lines that clew and Claude Code go on from.

One linear chain, one line for each block, times that only grow, names that are the same each time. What a step was before
stands in the field `foreign` of its line; what is no step, on lines of their own behind the chain, which no reader sends.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from clew.foreign.conversation_steps import (
    CallOutcome,
    Content,
    Conversation,
    ForeignCall,
    ForeignPrompt,
    ForeignReply,
    ForeignSummary,
    OtherRecord,
)
from clew.foreign.json_values import wash
from clew.foreign.tool_names import translated
from clew.version import __version__
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import Json
from clew.wire.rename_ids import new_uuid
from clew.wire.timestamps import format_timestamp

KEPT = "clew-foreign"
LEVEL = "2.1.29"  # of the format: the fields of that version, which every other reads
NO_RESULT = "[No result of this call was recorded.]"
NO_BEGINNING = "[The beginning of this conversation was not recorded.]"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TICK = timedelta(milliseconds=1)
_LONGEST_PROMPT = 200
_NO_USAGE = dict.fromkeys(
    ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"), 0
)


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Where a session is to lie, and when it is made."""

    id: str
    cwd: str
    start: datetime  # for what has no time of its own
    now: datetime


def session_id(talk: Conversation, *, again: bool = False) -> str:
    """The same for the same conversation; `again`, for the same state of it."""
    return new_uuid(wash(f"{talk.tool}/{talk.id}"), talk.digest if again else "session")


def lines(talk: Conversation, place: ImportTarget) -> list[Json]:
    """Every line of the session."""
    return _Builder(talk, place).build()


class _Builder:
    def __init__(self, talk: Conversation, place: ImportTarget) -> None:
        self.talk = talk
        self.place = place
        self.chain: list[Json] = []
        self.kept: list[Json] = []
        self.leaf: str | None = None
        self.clock = place.start - _TICK
        self.last_prompt = ""
        self.ids: set[str] = set()
        self.outcomes: dict[str, deque[CallOutcome]] = defaultdict(deque)
        for step in talk.steps:
            if isinstance(step, CallOutcome):
                self.outcomes[step.call].append(step)

    def build(self) -> list[Json]:
        first = next(
            (step for step in self.talk.steps if isinstance(step, ForeignPrompt | ForeignReply | ForeignSummary)), None
        )
        if isinstance(first, ForeignReply):
            self._user(NO_BEGINNING, first.time, {"isMeta": True})
        for step in self.talk.steps:
            match step:
                case ForeignPrompt():
                    self._prompt(step)
                case ForeignReply():
                    self._reply(step)
                case ForeignSummary():
                    self._summary(step)
                case OtherRecord():
                    self._keep(step.kind, step.original, step.time)
        for left in self.outcomes.values():
            for outcome in left:
                self._keep("result without a call", [outcome.call, _listed(outcome.content)], outcome.time)
        return [*self.chain, *self.kept, *self._ending()]

    # -- the chain

    def _prompt(self, step: ForeignPrompt) -> None:
        if not step.is_note:
            self.last_prompt = _words(step.content) or self.last_prompt
        body: Json = {"isMeta": True} if step.is_note else {"permissionMode": "default"}
        self._user(_sent(step.content), step.time, body | _foreign(step.extra))

    def _reply(self, step: ForeignReply) -> None:
        ident = "msg_" + new_uuid(self.place.id, f"message {len(self.chain)}").replace("-", "")[:24]
        stop = "tool_use" if any(isinstance(part, ForeignCall) for part in step.parts) else "end_turn"
        calls: list[tuple[ForeignCall, str, str]] = []
        for index, part in enumerate(step.parts, 1):
            block, changed = self._block(part)
            message = {
                "id": ident,
                "type": "message",
                "role": "assistant",
                "model": step.model or "unknown",
                "content": [block],
                "stop_reason": stop if index == len(step.parts) else None,
                "stop_sequence": None,
                "usage": {**_NO_USAGE, **step.usage},
            }
            uuid = self._link({"type": "assistant", "message": message, **changed}, step.time)
            if isinstance(part, ForeignCall):
                calls.append((part, block["id"], uuid))
        for call, id, uuid in calls:
            self._result(call, id, uuid)

    def _block(self, part: Json | ForeignCall) -> tuple[Json, Json]:
        """A block as it is sent, and the field that tells what it was."""
        if not isinstance(part, ForeignCall):
            return wash({key: value for key, value in part.items() if key != "extra"}), _foreign(part.get("extra"))
        given = wash(part.input)
        name, made = translated(part.name, given, self.talk.cwd)
        id = part.id
        if not _ID.fullmatch(id) or id in self.ids:
            id = "toolu_" + new_uuid(self.place.id, f"call {len(self.chain)}").replace("-", "")[:24]
        self.ids.add(id)
        was = {"name": part.name, "input": given} if (name, made) != (part.name, given) else {}
        was |= {"id": part.id} if id != part.id else {}
        return {"type": "tool_use", "id": id, "name": name, "input": made}, _foreign(part.extra | was)

    def _result(self, call: ForeignCall, id: str, source: str) -> None:
        waiting = self.outcomes.get(call.id)
        found = waiting.popleft() if waiting else None
        content = _sent(found.content) if found else NO_RESULT
        if found is None or found.is_error:
            block: Json = {"type": "tool_result", "content": _only_text(content), "is_error": True, "tool_use_id": id}
        else:
            block = {"tool_use_id": id, "type": "tool_result", "content": content}
        body: Json = {"sourceToolAssistantUUID": source}
        if found is None:
            body["foreign"] = {"missing": True}
        elif found.aside is not None:
            body |= _foreign({"aside": found.aside})
        self._user([block], found.time if found else None, body)

    def _summary(self, step: ForeignSummary) -> None:
        """A compaction as Claude Code writes it: nothing above it is sent any more."""
        body = {
            "logicalParentUuid": self.leaf,
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": {"trigger": "auto", "preTokens": 0},
        }
        self.leaf = None
        self._link(body, step.time)
        self._user(wash(step.text), step.time, {"isCompactSummary": True, "isVisibleInTranscriptOnly": True})

    def _user(self, content: Any, time: datetime | None, body: Json) -> None:
        self._link({"type": "user", "message": {"role": "user", "content": content}, **body}, time)

    def _link(self, body: Json, time: datetime | None) -> str:
        """Add a line to the chain; its time is its own unless that would turn the clock back."""
        self.clock = max(self.clock + _TICK, time.astimezone(UTC) if time else self.clock)
        uuid = new_uuid(self.place.id, f"line {len(self.chain)}")
        head = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.place.cwd,
            "sessionId": self.place.id,
            "version": LEVEL,
            "writer": f"clew/{__version__}",
            "gitBranch": self.talk.branch,
        }
        self.chain.append({**head, **body, "uuid": uuid, "timestamp": format_timestamp(self.clock)})
        self.leaf = uuid
        return uuid

    # -- beside it

    def _keep(self, kind: str, original: Any, time: datetime | None) -> None:
        line: Json = {"type": KEPT, "sessionId": self.place.id, "kind": kind, "messageId": self.leaf}
        line |= {"timestamp": format_timestamp(time)} if time else {}
        self.kept.append({**line, "original": wash(original)})

    def _ending(self) -> Iterator[Json]:
        talk, id = self.talk, self.place.id
        yield {
            "type": ORIGIN_TYPE,
            "sessionId": id,
            "source": talk.id,
            "steps": [f"import from {talk.tool}"],
            "timestamp": format_timestamp(self.place.now),
            "foreign": {
                "tool": talk.tool,
                "version": talk.version,
                "id": talk.id,
                "path": wash(talk.path),
                "cwd": wash(talk.cwd),
                "digest": talk.digest,
                "steps": len(talk.steps),
                "problems": wash(list(talk.problems)),
            },
        }
        if talk.title.strip():
            yield {"type": "custom-title", "customTitle": wash(" ".join(talk.title.split())), "sessionId": id}
        yield {"type": "tag", "tag": talk.tool, "sessionId": id}
        if self.leaf:
            short = wash(" ".join(self.last_prompt.split())[:_LONGEST_PROMPT])
            told = {"lastPrompt": short} if short else {}
            yield {"type": "last-prompt", **told, "leafUuid": self.leaf, "sessionId": id}


def _foreign(extra: Json | None) -> Json:
    return {"foreign": wash(extra)} if extra else {}


def _listed(content: Content) -> str | list[Json]:
    return content if isinstance(content, str) else list(content)


def _sent(content: Content) -> str | list[Json]:
    """Content for a message: a plain text where one is enough, and no empty blocks."""
    if isinstance(content, str):
        return str(wash(content))
    blocks = [b for b in wash(content) if b.get("type") != "text" or str(b.get("text", "")).strip()]
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        return str(blocks[0]["text"])
    return blocks or ""


def _only_text(content: str | list[Json]) -> str:
    """What may be said of a failure: text alone."""
    if isinstance(content, str):
        return content
    return "\n".join(str(b["text"]) if b.get("type") == "text" else f"[{b.get('type')}]" for b in content)


def _words(content: Content) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
