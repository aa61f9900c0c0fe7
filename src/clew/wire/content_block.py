"""Decode API messages: one tolerant shape for every kind of content block.

A block of an unknown type still decodes: `type` and the fields it shares with known blocks are read. Other fields
stay in the bytes of the entry (`entry.data`).
"""

# Annotations are values here, not text: msgspec would compile each text when it makes a decoder of entries.

from typing import Any

from msgspec import Raw, Struct, field

from clew.wire.json_codec import as_text
from clew.wire.numeric_limits import Count

EMPTY_RAW = Raw()
THINKING_TYPES = ("thinking", "redacted_thinking")  # types of the blocks that contain thinking


class CacheCreation(Struct, frozen=True, gc=False):
    ephemeral_5m: Count | None = field(default=None, name="ephemeral_5m_input_tokens")
    ephemeral_1h: Count | None = field(default=None, name="ephemeral_1h_input_tokens")


class ServerToolUse(Struct, frozen=True, gc=False):
    web_search: Count | None = field(default=None, name="web_search_requests")
    web_fetch: Count | None = field(default=None, name="web_fetch_requests")


class OutputDetails(Struct, frozen=True, gc=False):
    thinking_tokens: Count | None = None


class Tokens(Struct, frozen=True, gc=False):
    """`message.usage` as the API reported it; every field can be missing."""

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
    iterations: Raw = EMPTY_RAW


class Block(Struct, frozen=True, gc=False):
    """One element of `message.content`. `input` belongs to tool uses, `content` to tool results."""

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
    source: Raw = EMPTY_RAW

    @property
    def result_text(self) -> str:
        """The text of a tool result of any form: a string, a list of blocks, an object or nothing."""
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
        """The text blocks joined in order; a string and a list with the same text read the same."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(b.text for b in self.content or () if b.type == "text" and b.text is not None)


def result_text(content: Any) -> str:
    """Return the text of a tool result's content."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(t for t in map(part_text, content) if t)
    if isinstance(content, dict):
        return part_text(content)
    return ""


def part_text(part: Any) -> str:
    """Return the text of one part of a tool result; media become a marker such as `[image]`."""
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
