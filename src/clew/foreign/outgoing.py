"""Prepare a session for another program: the messages that a resume would send, and what cannot go along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Struct, field

from clew.conversation.load import request
from clew.conversation.resume_request import CONTINUE_PROMPT, NO_RESPONSE
from clew.conversation.session import Session
from clew.errors import Refused
from clew.facts.secrets.mask_secrets import mask_data
from clew.foreign.json_values import get_object, get_objects, get_text, sanitize
from clew.wire.content_block import THINKING_TYPES
from clew.wire.json_codec import Json
from clew.wire.rename_ids import new_uuid

_REASONS = {
    "thought": "only the API that signed them accepts them",
    "document": "a placeholder takes the place of each",
    "other block": "a placeholder takes the place of each",
    "sub-agent": "the results of sub-agents go along, their conversations do not",
    "earlier turn": "the summary of the compaction takes their place, as in a resume",
    "other branch": "only the active branch goes along",
    "attachment": "their text is not in the file",
}
_MASKED_FIELDS = ("text", "input", "content")


class OmittedContent(Struct, frozen=True):
    """Something that the other program does not get."""

    kind: str
    count: int
    reason: str


class OutgoingMessage(NamedTuple):
    """A message of text, image, tool_use and tool_result blocks; results contain text and images."""

    role: str
    blocks: tuple[Json, ...]
    time: datetime
    model: str = ""


class Outgoing(Struct, frozen=True):
    """A conversation for another program. The same state of a session always gets the same `id`."""

    id: str
    source: str
    cwd: str
    branch: str
    start: datetime
    messages: tuple[OutgoingMessage, ...]
    left_out: tuple[OmittedContent, ...]
    masked: int = 0


def prepare(session: Session, *, reveal: bool = False) -> Outgoing:
    """Build the conversation of a session. Raises Refused if Claude Code could not resume it either."""
    sent = request(session)
    converter = _Converter(reveal)
    messages = _without_closing(sent.messages)
    spoken = _spoken(sent.path)
    clock = session.started or datetime.fromtimestamp(0, UTC)
    outgoing: list[OutgoingMessage] = []
    for message in messages:
        blocks = tuple(converter.convert(message["content"]))
        said = [spoken[key] for block in blocks if (key := _key(block)) in spoken]
        clock = max([clock, *(time for time, _ in said if time)])
        role = "assistant" if message["role"] == "assistant" else "user"  # few programs send messages of the system
        if blocks and outgoing and outgoing[-1].role == role:
            outgoing[-1] = outgoing[-1]._replace(blocks=outgoing[-1].blocks + blocks)
        elif blocks:
            model = next((model for _, model in said if model), "")
            outgoing.append(OutgoingMessage(role, blocks, clock, model))
    if not outgoing:
        raise Refused([f"{session.id[:8]} has no conversation to export: {sent.refusal or 'it is empty'}"])
    counts = converter.counts
    sent_uuids = {entry.uuid for entry in sent.path}
    counts["earlier turn"] = sum(turn.prompt.uuid not in sent_uuids for turn in session.turns)
    counts["other branch"] = sum(not branch.is_active for branch in session.branches)
    counts["sub-agent"], counts["attachment"] = len(session.agents), sent.left_out
    end = sent.leaf.uuid if sent.leaf and sent.leaf.uuid else ""
    return Outgoing(
        new_uuid(session.id, f"{end} {len(messages)} {'revealed' if reveal else 'masked'}"),
        session.id,
        session.cwd or "",
        session.branch_name or "",
        session.started or clock,
        tuple(outgoing),
        tuple(OmittedContent(kind, counts[kind], reason) for kind, reason in _REASONS.items() if counts[kind]),
        converter.masked,
    )


def _without_closing(messages: list[Json]) -> list[Json]:
    """Return the messages without those that Claude Code adds to close an unfinished turn."""
    *before, last = messages or [{"role": "", "content": []}]
    if last["role"] != "assistant" or [get_text(block, "text") for block in last["content"]] != [NO_RESPONSE]:
        return messages
    if before and get_text(before[-1]["content"][-1], "text") == CONTINUE_PROMPT:
        before[-1] = {**before[-1], "content": before[-1]["content"][:-1]}
    return before


def _spoken(path: Iterable[Any]) -> dict[str, tuple[datetime | None, str]]:
    """Return the time and the model of each block of the entries."""
    found: dict[str, tuple[datetime | None, str]] = {}
    for entry in path:
        message = get_object(entry.data, "message")
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else get_objects(content)
        for block in blocks:
            found.setdefault(_key(block), (entry.time, get_text(message, "model")))
    return found


def _key(block: Json) -> str:
    return get_text(block, "id", "text") or f"result {get_text(block, 'tool_use_id')}"


class _Converter(Struct):
    """Reduces blocks to those that every program has, and counts what is lost."""

    reveal: bool
    counts: Counter[str] = field(default_factory=Counter)
    masked: int = 0

    def convert(self, blocks: Iterable[Any]) -> Iterator[Json]:
        for block in blocks:
            if isinstance(block, str):
                block = {"type": "text", "text": block}
            kind = get_text(block, "type")
            if kind in THINKING_TYPES:
                self.counts["thought"] += 1
            elif kind == "text":
                if get_text(block, "text").strip():
                    yield self._mask(block)
            elif kind == "tool_use":
                yield self._mask(block)
            elif kind == "tool_result":
                content = block.get("content")
                inner = list(self.convert(content)) if isinstance(content, list) else get_text(content)
                result = block if isinstance(inner, list) else self._mask({**block, "content": inner})
                yield {**result, "content": inner} if isinstance(inner, list) else result
            elif kind == "image":
                yield block
            else:
                self.counts["document" if kind == "document" else "other block"] += 1
                name = get_text(block, "tool_name", "title", "name")
                yield self._mask({"type": "text", "text": f"[{kind or 'block'}{name and f': {name}'}]"})

    def _mask(self, block: Json) -> Json:
        block = sanitize(block)
        if self.reveal:
            return block
        masked, count = mask_data({key: block[key] for key in _MASKED_FIELDS if key in block})
        self.masked += count
        return {**block, **masked}
