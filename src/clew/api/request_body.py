"""Requests: what is asked of the Messages API, and its body as one kind of server takes it.

A capability is a header and the fields that need it, kept together: one without the other is refused. The marks of the
prompt cache are set here and nowhere else: on the last tool, the last system block, and the last blocks of the two
newest user messages, so that the older of the two is found again when the newer has expired.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from clew.api.endpoint import ServerProfile
from clew.api.open_turn import start_without_thinking
from clew.api.token_estimate import tokens
from clew.wire.content_block import THINKING_TYPES

Json = dict[str, Any]

SHORTEST = 1024  # tokens; the API does not keep a shorter beginning
THINKING_BLOCKS = "thinking blocks"


class Capability(Struct, frozen=True):
    """Something beyond the plain API: the header that asks for it, and the fields that use it."""

    name: str
    beta: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


class MessagesRequest(Struct, frozen=True, kw_only=True):
    """One request. `is_marked` says whether the marks of the prompt cache are set; those in the messages are then ours."""

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
    lifetime: str = ""  # of what is marked: "" for the API's default, or "1h"
    fallback: str = ""  # the model to ask when this one stays overloaded


class Prepared(Struct, frozen=True):
    """A request as it is sent."""

    body: Json
    betas: tuple[str, ...] = ()


def prepare(
    request: MessagesRequest,
    profile: ServerProfile,
    without: frozenset[str] = frozenset(),
    refused: frozenset[str] = frozenset(),
) -> Prepared:
    """The body and the betas for a server, `without` what it was found not to take, and without thinking that it
    `refused` by its signature. The request stays as it is.

    A turn whose thinking is missing (another model wrote it, or the server refused it) continues without `thinking`.
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
    betas: list[str] = []
    for each in request.capabilities:
        if (profile.betas or not each.beta) and each.name not in without:
            body |= each.fields
            betas += [each.beta] if each.beta else []
    for name in (*profile.leaves_out, *without):
        body.pop(name, None)
    if refused:
        body["messages"] = without_thinking(body["messages"], refused)
    if body.get("thinking", {}).get("type") == "enabled" and start_without_thinking(body["messages"]):
        del body["thinking"]
    if request.is_marked and profile.marks and "cache_control" not in without:
        body = marked(body, request.lifetime)
    elif request.is_marked:
        body = unmarked(body)
    return Prepared(body, tuple(dict.fromkeys(betas)))


# -- the prompt cache


def marked(body: Json, lifetime: str = "") -> Json:
    """The body with marks of the prompt cache where they serve, and nowhere else."""
    plain = unmarked(body)
    mark = {"type": "ephemeral"} | ({"ttl": lifetime} if lifetime else {})
    size = tokens(plain.get("tools"))
    if plain.get("tools") and size >= SHORTEST:
        plain["tools"] = _last_marked(plain["tools"], mark)
    size += tokens(plain.get("system"))
    if plain.get("system") and size >= SHORTEST:
        plain["system"] = _last_marked(_blocks(plain["system"]), mark)
    messages: list[Json] = plain["messages"]
    asked = [i for i, message in enumerate(messages) if message.get("role") == "user" and message.get("content")]
    for index in asked[-2:]:
        if size + tokens(messages[: index + 1]) >= SHORTEST:
            content = _last_marked(_blocks(messages[index]["content"]), mark)
            messages[index] = {**messages[index], "content": content}
    return plain


def unmarked(body: Json) -> Json:
    """A copy of the body without any mark; what has none is shared with the original."""
    made = dict(body)
    for name in ("tools", "system"):
        if isinstance(made.get(name), list):
            made[name] = [_without_mark(each) for each in made[name]]
    made["messages"] = [_message_without_mark(each) for each in body.get("messages") or ()]
    return made


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


def _last_marked(blocks: list[Json], mark: Json) -> list[Json]:
    """The last block that may be marked gets the mark: thinking and empty texts may not."""
    for index in range(len(blocks) - 1, -1, -1):
        if blocks[index].get("type") not in THINKING_TYPES and blocks[index].get("text") != "":
            return [*blocks[:index], {**blocks[index], "cache_control": mark}, *blocks[index + 1 :]]
    return blocks


# -- what a server refused


def signatures(messages: Sequence[Json]) -> frozenset[str]:
    """The signatures of all thinking in these messages; of hidden thinking its data."""
    contents = (m.get("content") for m in messages if m.get("role") == "assistant")
    return frozenset(
        _signature(b) for c in contents if isinstance(c, list) for b in c if b.get("type") in THINKING_TYPES
    )


def _signature(block: Json) -> str:
    return str(block.get("signature") or block.get("data") or "")


def without_thinking(messages: Sequence[Json], refused: frozenset[str]) -> list[Json]:
    """The messages without thinking of these signatures; a message that was nothing else goes too."""
    made: list[Json] = []
    for message in messages:
        content = message.get("content")
        if message.get("role") == "assistant" and isinstance(content, list):
            kept = [b for b in content if b.get("type") not in THINKING_TYPES or _signature(b) not in refused]
            if not kept and content:
                continue
            message = {**message, "content": kept}
        made.append(message)
    return made


def culprit(message: str, prepared: Prepared, request: MessagesRequest) -> str:
    """What of a request a refusal (400) names, if it can be done without; empty if there is nothing to leave out."""
    told = message.lower()
    for each in request.capabilities:
        used = {*each.fields} & {*prepared.body} or ({each.beta} & {*prepared.betas} if each.beta else set())
        if used and any(word.lower() in told for word in (*each.fields, each.beta) if word):
            return each.name
    return next((name for name, holds in _OPTIONAL.items() if holds(told, prepared.body)), "")


def _has_mark(body: Json) -> bool:
    return marked_count(body) > 0


def marked_count(body: Json) -> int:
    """How many marks of the prompt cache a body holds, also inside tool results."""
    todo: list[Any] = [body.get("tools"), body.get("system"), body.get("messages")]
    count = 0
    while todo:
        item = todo.pop()
        if isinstance(item, list):
            todo += item
        elif isinstance(item, dict):
            count += isinstance(item.get("cache_control"), dict)
            if isinstance(item.get("content"), list):
                todo.append(item["content"])
    return count


_ABOUT_BLOCKS = re.compile(r"signature|thinking` block")
_ABOUT_ELSE = re.compile(r"signature|thinking` block|tokens")
_OPTIONAL: Mapping[str, Callable[[str, Json], bool]] = {
    THINKING_BLOCKS: lambda told, body: bool(_ABOUT_BLOCKS.search(told) and signatures(body["messages"])),
    "cache_control": lambda told, body: "cache_control" in told and _has_mark(body),
    "thinking": lambda told, body: "thinking" in told and "thinking" in body and not _ABOUT_ELSE.search(told),
    "metadata": lambda told, body: "metadata" in told and "metadata" in body,
    "temperature": lambda told, body: "temperature" in told and "temperature" in body,
}
