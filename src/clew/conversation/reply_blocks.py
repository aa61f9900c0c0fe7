"""Change the blocks of a reply as Claude Code does before it sends them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.conversation.cli_version import Era
from clew.wire.content_block import THINKING_TYPES
from clew.wire.json_codec import Json, as_text

NO_CONTENT = "(no content)"
INTERRUPTED_USE = "[Tool use interrupted]"
ADVICE = "[Advisor response]"


def restore_call(block: Json, era: Era) -> Json:
    """Return a call as the model made it, without the fields that Claude Code added when it ran the call."""
    fields: Json = {key: block[key] for key in _CALL_FIELDS if key in block} if era.strips_call_fields else block
    arguments = fields.get("input")
    if not isinstance(arguments, dict):
        return fields
    added: frozenset[str] = frozenset()
    if fields.get("name") == "ExitPlanMode":
        added = era.added_plan_fields
    elif fields.get("name") == "SendMessage" and era.restores_messages and {"to", "message"} <= arguments.keys():
        added = _ADDED_TO_MESSAGES
    return (
        {**fields, "input": {key: value for key, value in arguments.items() if key not in added}} if added else fields
    )


_CALL_FIELDS = ("type", "id", "name", "input")
_ADDED_TO_MESSAGES = frozenset({"type", "recipient", "content", "request_id", "approve"})


def adjust_reply_blocks(blocks: list[Json], era: Era) -> list[Json]:
    """Return what is sent of a reply: without open calls of the server's tools, advice and marks; never empty."""
    stored = blocks
    names = era.tool_names
    blocks = [_rename_tool(block, names) for block in blocks]
    if era.sorts_calls_last:
        blocks = sorted(blocks, key=lambda b: b.get("type") == "tool_use")
    if era.drops_open_server_calls:
        blocks = _drop_unanswered_server_calls(blocks)
    if era.renders_attachments:
        blocks = [_clear_citations(b) for b in blocks if b.get("type") != "text" or b.get("text")]
        blocks = [b for b in blocks if b.get("type") != "tool_result"]  # which only a user can give
    if era.drops_open_server_calls and not blocks and any(_is_call_or_result(b) for b in stored):
        blocks = [placeholder(INTERRUPTED_USE)]
    if era.drops_advice:
        blocks = _drop_advice(blocks)
    if era.drops_fallbacks:
        blocks = [b for b in blocks if b.get("type") != "fallback"]
    return blocks or ([placeholder(NO_CONTENT)] if era.marks_empty else [])


def placeholder(text: str) -> Json:
    return {"type": "text", "text": text, "citations": []}


def _is_call_or_result(block: Json) -> bool:
    return as_text(block.get("type")).endswith(("tool_use", "tool_result"))


def _clear_citations(block: Json) -> Json:
    """Empty the citations of a text; the field itself is sent."""
    is_cited = block.get("type") == "text" and isinstance(block.get("citations"), list)
    return {**block, "citations": []} if is_cited else block


def _drop_unanswered_server_calls(blocks: Sequence[Json]) -> list[Json]:
    """Drop calls of server tools that have no result in the same reply."""
    answered = {b.get("tool_use_id") for b in blocks if as_text(b.get("type")).endswith("_tool_result")}
    servers = ("server_tool_use", "mcp_tool_use")
    return [b for b in blocks if b.get("type") not in servers or b.get("id") in answered]


def _drop_advice(blocks: list[Json]) -> list[Json]:
    """Drop the calls of the advisor, a tool of the server, and their results; a reply without other text says so.

    >>> _drop_advice([{"type": "advisor_tool_result", "tool_use_id": "srv1", "content": []}])
    [{'type': 'text', 'text': '[Advisor response]', 'citations': []}]
    """
    kept = [b for b in blocks if b.get("type") != "advisor_tool_result" and not _is_advisor_call(b)]
    if len(kept) == len(blocks) or not all(b.get("type") in THINKING_TYPES or _is_blank(b) for b in kept):
        return kept
    return [*kept, placeholder(ADVICE)]


def _is_advisor_call(block: Json) -> bool:
    return block.get("type") == "server_tool_use" and block.get("name") == "advisor"


def _is_blank(block: Json) -> bool:
    return block.get("type") == "text" and not as_text(block.get("text") or "").strip()


def _rename_tool(block: Json, names: Mapping[str, str]) -> Json:
    name = names.get(as_text(block.get("name"))) if block.get("type") == "tool_use" else None
    return {**block, "name": name} if name else block
