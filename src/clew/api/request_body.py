"""Build the body of a Messages API request for one kind of server.

A capability is a header and the fields that need it, kept together: one without the other is rejected. The
prompt-cache marks are set only here: on the last tool, the last system block, and the last blocks of the two newest
user messages, so that the older of the two is still cached when the newer has expired.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from clew.api.open_turn import start_without_thinking
from clew.api.token_estimate import estimate_tokens, has_tokens
from clew.wire.content_block import THINKING_TYPES
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from clew.api.endpoint import ServerProfile

MIN_CACHED = 1024  # tokens; the API does not cache a shorter prefix
THINKING_BLOCKS = "thinking blocks"
THINKING_DISPLAY = "the display of thinking"


class Capability(Struct, frozen=True):
    """A feature beyond the plain API: the header that requests it, and the fields that use it."""

    name: str
    beta: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


class MessagesRequest(Struct, frozen=True, kw_only=True):
    """One request. If `is_marked`, prompt-cache marks are set, and any in the messages are replaced."""

    model: str
    messages: Sequence[Json]
    max_tokens: int = 4096
    system: str | Sequence[Json] = ()
    tools: Sequence[Json] = ()
    tool_choice: Json | None = None
    thinking: Json | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] = ()
    metadata: Json | None = None
    capabilities: Sequence[Capability] = ()
    is_marked: bool = True
    lifetime: str = ""  # of the cache: "" for the API's default, or "1h"
    fallback: MessagesRequest | None = None  # the request to another model, if this one stays overloaded


class PreparedRequest(Struct, frozen=True):
    """A request as it is sent."""

    body: Json
    betas: tuple[str, ...] = ()


def prepare(
    request: MessagesRequest,
    profile: ServerProfile,
    without: frozenset[str] = frozenset(),
    refused: frozenset[str] = frozenset(),
) -> PreparedRequest:
    """Return the body and the betas for a server. The request is not changed.

    `without` names what the server rejected before, `refused` the signatures of thinking that it rejected. A turn
    whose thinking is missing (another model wrote it, or the server rejected it) continues without `thinking`.
    """
    body: Json = {"model": request.model, "max_tokens": request.max_tokens}
    if request.system:
        body["system"] = request.system if isinstance(request.system, str) else list(request.system)
    if request.tools:
        body["tools"] = list(request.tools)
    body["messages"] = list(request.messages)
    optional = {
        "tool_choice": request.tool_choice,
        "thinking": request.thinking,
        "temperature": request.temperature,
        "stop_sequences": list(request.stop_sequences) or None,
        "metadata": request.metadata,
    }
    body |= {name: value for name, value in optional.items() if value is not None}
    # Example: a server without betas gets neither the fields of a capability with a beta nor the name of the beta.
    betas: list[str] = []
    for capability in request.capabilities:
        is_unknown = bool(capability.fields) and {*capability.fields} <= {*profile.leaves_out}
        if (profile.betas or not capability.beta) and capability.name not in without and not is_unknown:
            body |= capability.fields
            betas += [capability.beta] if capability.beta else []
    for name in (*profile.leaves_out, *without):
        body.pop(name, None)
    thinking = body.get("thinking", {})
    is_plain = thinking.get("type") == "enabled" and not profile.displays_budget
    if "display" in thinking and (is_plain or THINKING_DISPLAY in without):
        body["thinking"] = {k: v for k, v in body["thinking"].items() if k != "display"}
    if refused:
        body["messages"] = drop_thinking(body["messages"], refused)
    if body.get("thinking", {}).get("type") == "enabled" and start_without_thinking(body["messages"]):
        del body["thinking"]
    if request.is_marked and profile.marks and "cache_control" not in without:
        body = set_cache_marks(body, request.lifetime)
    elif request.is_marked:
        body = remove_cache_marks(body)
    return PreparedRequest(body, tuple(dict.fromkeys(betas)))


# -- the prompt cache


def set_cache_marks(body: Json, lifetime: str = "") -> Json:
    """Return the body with prompt-cache marks at the useful positions, and no others."""
    plain = remove_cache_marks(body)
    mark = {"type": "ephemeral"} | ({"ttl": lifetime} if lifetime else {})
    size = estimate_tokens(plain.get("tools"))
    if plain.get("tools") and size >= MIN_CACHED:
        plain["tools"] = _mark_last(plain["tools"], mark)
    size += estimate_tokens(plain.get("system"))
    if plain.get("system") and size >= MIN_CACHED:
        plain["system"] = _mark_last(_blocks(plain["system"]), mark)
    messages: list[Json] = plain["messages"]
    user_indices = [i for i, message in enumerate(messages) if message.get("role") == "user" and message.get("content")]
    for index in user_indices[-2:]:
        if has_tokens(messages[: index + 1], MIN_CACHED - size):
            content = _mark_last(_blocks(messages[index]["content"]), mark)
            messages[index] = {**messages[index], "content": content}
    return plain


def remove_cache_marks(body: Json) -> Json:
    """Return a copy of the body without prompt-cache marks; parts without marks are shared with the original."""
    copy = dict(body)
    for name in ("tools", "system"):
        if isinstance(copy.get(name), list):
            copy[name] = [_without_mark(item) for item in copy[name]]
    copy["messages"] = [_message_without_mark(item) for item in body.get("messages") or ()]
    return copy


def _message_without_mark(message: Json) -> Json:
    content = message.get("content")
    return {**message, "content": [_without_mark(b) for b in content]} if isinstance(content, list) else message


def _without_mark(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    inner = block.get("content")
    if "cache_control" in block:
        block = {k: v for k, v in block.items() if k != "cache_control"}
    if isinstance(inner, list) and any(isinstance(b, dict) and "cache_control" in b for b in inner):
        block = {**block, "content": [_without_mark(b) for b in inner]}
    return block


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _mark_last(blocks: list[Json], mark: Json) -> list[Json]:
    """Mark the last block that can be marked: thinking and empty texts cannot."""
    for index in range(len(blocks) - 1, -1, -1):
        if blocks[index].get("type") not in THINKING_TYPES and blocks[index].get("text") != "":
            return [*blocks[:index], {**blocks[index], "cache_control": mark}, *blocks[index + 1 :]]
    return blocks


# -- parts that a server rejected


def signatures(messages: Sequence[Json]) -> frozenset[str]:
    """Return the signatures of all thinking in these messages; for redacted thinking its data."""
    contents = (m.get("content") for m in messages if m.get("role") == "assistant")
    return frozenset(
        _signature(b) for c in contents if isinstance(c, list) for b in c if b.get("type") in THINKING_TYPES
    )


def _signature(block: Json) -> str:
    return str(block.get("signature") or block.get("data") or "")


def drop_thinking(messages: Sequence[Json], refused: frozenset[str]) -> list[Json]:
    """Return the messages without thinking of these signatures; a message that contained nothing else is dropped."""
    remaining_messages: list[Json] = []
    for message in messages:
        content = message.get("content")
        if message.get("role") == "assistant" and isinstance(content, list):
            remaining = [b for b in content if b.get("type") not in THINKING_TYPES or _signature(b) not in refused]
            if not remaining and content:
                continue
            message = {**message, "content": remaining}
        remaining_messages.append(message)
    return remaining_messages


def find_rejected_part(message: str, prepared: PreparedRequest, request: MessagesRequest) -> str:
    """Return the part of a request that a rejection (400) names, if it is optional; else ""."""
    lowered = message.lower()
    for capability in request.capabilities:
        used = {*capability.fields} & {*prepared.body} or (
            {capability.beta} & {*prepared.betas} if capability.beta else set()
        )
        if used and any(word.lower() in lowered for word in (*capability.fields, capability.beta) if word):
            return capability.name
    return next((name for name, holds in _OPTIONAL.items() if holds(lowered, prepared.body)), "")


def _has_mark(body: Json) -> bool:
    return count_cache_marks(body) > 0


def count_cache_marks(body: Json) -> int:
    """Return the number of prompt-cache marks in a body, including those inside tool results."""
    stack: list[Any] = [body.get("tools"), body.get("system"), body.get("messages")]
    count = 0
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            count += isinstance(item.get("cache_control"), dict)
            if isinstance(item.get("content"), list):
                stack.append(item["content"])
    return count


_ABOUT_BLOCKS = re.compile(r"signature|thinking` block")
_ABOUT_ELSE = re.compile(r"signature|thinking` block|tokens")
_OPTIONAL: Mapping[str, Callable[[str, Json], bool]] = {
    THINKING_BLOCKS: lambda text, body: bool(_ABOUT_BLOCKS.search(text) and signatures(body["messages"])),
    "cache_control": lambda text, body: "cache_control" in text and _has_mark(body),
    THINKING_DISPLAY: lambda text, body: "display" in text and "display" in body.get("thinking", {}),
    "thinking": lambda text, body: "thinking" in text and "thinking" in body and not _ABOUT_ELSE.search(text),
    "metadata": lambda text, body: "metadata" in text and "metadata" in body,
    "temperature": lambda text, body: "temperature" in text and "temperature" in body,
}
