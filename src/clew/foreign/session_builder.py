"""Build session lines from the steps of a conversation, so that clew and Claude Code can resume it.

The lines form one linear chain with one line per block, increasing times and deterministic ids. The original form of
a step is in the field `foreign` of its line; records that are not steps follow the chain as separate lines, which
are never sent.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

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
from clew.foreign.json_values import sanitize
from clew.foreign.tool_names import translate_call
from clew.version import __version__
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import Json
from clew.wire.rename_ids import new_uuid
from clew.wire.timestamps import format_timestamp

FOREIGN_TYPE = "clew-foreign"
FORMAT_VERSION = "2.1.29"  # lines have the fields of this version, which all others read
NO_RESULT = "[No result of this call was recorded.]"
NO_BEGINNING = "[The beginning of this conversation was not recorded.]"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MIN_STEP = timedelta(milliseconds=1)
_MAX_PROMPT = 200
_NO_USAGE = dict.fromkeys(
    ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"), 0
)


class ImportTarget(Struct, frozen=True):
    """The id, folder and time of the session to create."""

    id: str
    cwd: str
    start: datetime  # for steps without a time
    now: datetime


def session_id(conversation: Conversation, *, again: bool = False) -> str:
    """Return the session id of a conversation; with `again`, of its current state."""
    return new_uuid(sanitize(f"{conversation.tool}/{conversation.id}"), conversation.digest if again else "session")


def build_lines(conversation: Conversation, target: ImportTarget) -> list[Json]:
    """Build every line of the session."""
    return _Builder(conversation, target).build()


class _Builder:
    def __init__(self, conversation: Conversation, target: ImportTarget) -> None:
        self.conversation = conversation
        self.place = target
        self.chain: list[Json] = []
        self.kept: list[Json] = []
        self.leaf: str | None = None
        self.clock = target.start - _MIN_STEP
        self.last_prompt = ""
        self.ids: set[str] = set()
        self.outcomes: dict[str, deque[CallOutcome]] = defaultdict(deque)
        for step in conversation.steps:
            if isinstance(step, CallOutcome):
                self.outcomes[step.call].append(step)

    def build(self) -> list[Json]:
        first = next(
            (
                step
                for step in self.conversation.steps
                if isinstance(step, ForeignPrompt | ForeignReply | ForeignSummary)
            ),
            None,
        )
        if isinstance(first, ForeignReply):
            self._user(NO_BEGINNING, first.time, {"isMeta": True})
        for step in self.conversation.steps:
            match step:
                case ForeignPrompt():
                    self._prompt(step)
                case ForeignReply():
                    self._reply(step)
                case ForeignSummary():
                    self._summary(step)
                case OtherRecord():
                    self._append_record(step.kind, step.original, step.time)
        for left in self.outcomes.values():
            for outcome in left:
                self._append_record("result without a call", [outcome.call, _to_list(outcome.content)], outcome.time)
        return [*self.chain, *self.kept, *self._closing_lines()]

    # -- the chain

    def _prompt(self, step: ForeignPrompt) -> None:
        if not step.is_note:
            self.last_prompt = _plain_text(step.content) or self.last_prompt
        body: Json = {"isMeta": True} if step.is_note else {"permissionMode": "default"}
        self._user(_message_content(step.content), step.time, body | _foreign_field(step.extra))

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
            uuid = self._append_line({"type": "assistant", "message": message, **changed}, step.time)
            if isinstance(part, ForeignCall):
                calls.append((part, block["id"], uuid))
        for call, id, uuid in calls:
            self._result(call, id, uuid)

    def _block(self, part: Json | ForeignCall) -> tuple[Json, Json]:
        """Return a block as it is sent, and the `foreign` field with its original form."""
        if not isinstance(part, ForeignCall):
            return sanitize({key: value for key, value in part.items() if key != "extra"}), _foreign_field(
                part.get("extra")
            )
        original_input = sanitize(part.input)
        name, translated_input = translate_call(part.name, original_input, self.conversation.cwd)
        id = part.id
        if not _ID.fullmatch(id) or id in self.ids:
            id = "toolu_" + new_uuid(self.place.id, f"call {len(self.chain)}").replace("-", "")[:24]
        self.ids.add(id)
        original = (
            {"name": part.name, "input": original_input}
            if (name, translated_input) != (part.name, original_input)
            else {}
        )
        original |= {"id": part.id} if id != part.id else {}
        return {"type": "tool_use", "id": id, "name": name, "input": translated_input}, _foreign_field(
            part.extra | original
        )

    def _result(self, call: ForeignCall, id: str, source: str) -> None:
        waiting = self.outcomes.get(call.id)
        outcome = waiting.popleft() if waiting else None
        content = _message_content(outcome.content) if outcome else NO_RESULT
        if outcome is None or outcome.is_error:
            block: Json = {
                "type": "tool_result",
                "content": _text_of_error(content),
                "is_error": True,
                "tool_use_id": id,
            }
        else:
            block = {"tool_use_id": id, "type": "tool_result", "content": content}
        body: Json = {"sourceToolAssistantUUID": source}
        if outcome is None:
            body["foreign"] = {"missing": True}
        elif outcome.aside is not None:
            body |= _foreign_field({"aside": outcome.aside})
        self._user([block], outcome.time if outcome else None, body)

    def _summary(self, step: ForeignSummary) -> None:
        """Add a compaction as Claude Code writes it: nothing before it is sent any more."""
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
        self._append_line(body, step.time)
        self._user(sanitize(step.text), step.time, {"isCompactSummary": True, "isVisibleInTranscriptOnly": True})

    def _user(self, content: Any, time: datetime | None, body: Json) -> None:
        self._append_line({"type": "user", "message": {"role": "user", "content": content}, **body}, time)

    def _append_line(self, body: Json, time: datetime | None) -> str:
        """Append a line to the chain. Its time is its own unless that would be before the previous line."""
        self.clock = max(self.clock + _MIN_STEP, time.astimezone(UTC) if time else self.clock)
        uuid = new_uuid(self.place.id, f"line {len(self.chain)}")
        head = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.place.cwd,
            "sessionId": self.place.id,
            "version": FORMAT_VERSION,
            "writer": f"clew/{__version__}",
            "gitBranch": self.conversation.branch,
        }
        self.chain.append({**head, **body, "uuid": uuid, "timestamp": format_timestamp(self.clock)})
        self.leaf = uuid
        return uuid

    # -- beside it

    def _append_record(self, kind: str, original: Any, time: datetime | None) -> None:
        line: Json = {"type": FOREIGN_TYPE, "sessionId": self.place.id, "kind": kind, "messageId": self.leaf}
        line |= {"timestamp": format_timestamp(time)} if time else {}
        self.kept.append({**line, "original": sanitize(original)})

    def _closing_lines(self) -> Iterator[Json]:
        conversation, id = self.conversation, self.place.id
        yield {
            "type": ORIGIN_TYPE,
            "sessionId": id,
            "source": conversation.id,
            "steps": [f"import from {conversation.tool}"],
            "timestamp": format_timestamp(self.place.now),
            "foreign": {
                "tool": conversation.tool,
                "version": conversation.version,
                "id": conversation.id,
                "path": sanitize(conversation.path),
                "cwd": sanitize(conversation.cwd),
                "digest": conversation.digest,
                "steps": len(conversation.steps),
                "problems": sanitize(list(conversation.problems)),
            },
        }
        if conversation.title.strip():
            yield {
                "type": "custom-title",
                "customTitle": sanitize(" ".join(conversation.title.split())),
                "sessionId": id,
            }
        yield {"type": "tag", "tag": conversation.tool, "sessionId": id}
        if self.leaf:
            prompt_start = sanitize(" ".join(self.last_prompt.split())[:_MAX_PROMPT])
            prompt_field = {"lastPrompt": prompt_start} if prompt_start else {}
            yield {"type": "last-prompt", **prompt_field, "leafUuid": self.leaf, "sessionId": id}


def _foreign_field(extra: Json | None) -> Json:
    return {"foreign": sanitize(extra)} if extra else {}


def _to_list(content: Content) -> str | list[Json]:
    return content if isinstance(content, str) else list(content)


def _message_content(content: Content) -> str | list[Json]:
    """Return content for a message: plain text if that suffices, and no empty blocks."""
    if isinstance(content, str):
        return str(sanitize(content))
    blocks = [b for b in sanitize(content) if b.get("type") != "text" or str(b.get("text", "")).strip()]
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        return str(blocks[0]["text"])
    return blocks or ""


def _text_of_error(content: str | list[Json]) -> str:
    """Return the content of a failed result as text, the only form the API accepts there."""
    if isinstance(content, str):
        return content
    return "\n".join(str(b["text"]) if b.get("type") == "text" else f"[{b.get('type')}]" for b in content)


def _plain_text(content: Content) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
