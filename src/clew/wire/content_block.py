"""The parts of an API message: typed reads, one tolerant shape for every kind of block.

A block of an unknown type still decodes: its `type` is kept and the fields it shares with the known ones are read. What no
field here names stays in the bytes of the entry (`entry.data`).
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from clew.wire.json_codec import as_text
from clew.wire.numeric_limits import Count

NOTHING = Raw()
THOUGHT = ("thinking", "redacted_thinking")  # the types of blocks that hold thinking


class CacheCreation(Struct, frozen=True, gc=False):
    ephemeral_5m: Count | None = field(default=None, name="ephemeral_5m_input_tokens")
    ephemeral_1h: Count | None = field(default=None, name="ephemeral_1h_input_tokens")


class ServerToolUse(Struct, frozen=True, gc=False):
    web_search: Count | None = field(default=None, name="web_search_requests")
    web_fetch: Count | None = field(default=None, name="web_fetch_requests")


class OutputDetails(Struct, frozen=True, gc=False):
    thinking_tokens: Count | None = None


class Tokens(Struct, frozen=True, gc=False):
    """`message.usage` as the API reported it; every field may be missing."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation: CacheCreation | None = None
    output_tokens: Count | None = None
    output_tokens_details: OutputDetails | None = None
    service_tier: str | None = None
    server_tool_use: ServerToolUse | None = None
    inference_geo: str | None = None
    speed: str | None = None
    iterations: Raw = NOTHING


class Block(Struct, frozen=True, gc=False):
    """One element of `message.content`; `input` is a tool use's, `content` a tool result's."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None
    source: Raw = NOTHING

    @property
    def result_text(self) -> str:
        """The text of a tool result, whatever form it has: a string, a list of blocks, an object or nothing."""
        return result_text(self.content)


class Message(Struct, frozen=True, gc=False):
    """The API message of a user or assistant entry."""

    model: str | None = None
    id: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: Tokens | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks; a plain string is one text block."""
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content or []

    @property
    def text(self) -> str:
        """The text blocks alone, in order: a string and a list of the same text read alike."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(b.text for b in self.content or () if b.type == "text" and b.text is not None)


def result_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(t for t in map(part_text, content) if t)
    if isinstance(content, dict):
        return part_text(content)
    return ""


def part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    match part.get("type"):
        case "text":
            return as_text(part.get("text") or "")
        case "tool_reference":
            return as_text(part.get("tool_name") or "")
        case "image" | "document" | "search_result" as kind:
            return f"[{kind}]"
    text = part.get("text")
    return text if isinstance(text, str) else ""
