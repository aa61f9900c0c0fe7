"""Implement functions from early descriptions of the format literally, for tools written against them.

They follow those descriptions and not what the files mean: `Reply` is the better answer to which lines make a
message, and `clew.request` to what a resume sends. Those about rounds are in `rounds`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from clew.conversation.replies import merge_replies
from clew.wire.content_block import Block, Tokens
from clew.wire.entry import Entry
from clew.wire.json_codec import JsonView


def parse_content_blocks(message_content: Any) -> list[dict[str, Any]]:
    """Return a flat list of blocks. Empty texts are kept, so that no message disappears."""
    if not isinstance(message_content, list):
        return []
    return [b for item in message_content if isinstance(item, dict) and (b := _flat_block(item))]


def _flat_block(item: dict[str, Any]) -> dict[str, Any] | None:
    match item.get("type"):
        case "text":
            return {"type": "text", "text": item.get("text", "")}
        case "thinking":
            return {"type": "thinking", "thinking": item.get("thinking", "")}
        case "tool_use":
            return {
                "type": "tool_use",
                "tool_name": item.get("name", ""),
                "tool_input": item.get("input", {}),
                "tool_use_id": item.get("id", ""),
            }
        case "tool_result":
            return {
                "type": "tool_result",
                "tool_use_id": item.get("tool_use_id", ""),
                "content": item.get("content", ""),
                "is_error": item.get("is_error", False),
            }
    return None


def extract_text(message: JsonView) -> str:
    """Return the text and the marked thinking; an empty string for plain string content."""
    content = message.get("content", [])
    if not isinstance(content, list):
        return ""
    texts = []
    for item in content:
        if isinstance(item, dict) and item.get("type") == "text":
            texts.append(str(item.get("text", "")))
        elif isinstance(item, dict) and item.get("type") == "thinking":
            texts.append(f"[思考] {item.get('thinking', '')}")
    return "\n".join(texts)


def extract_tool_name(message: JsonView) -> str | None:
    """Return the name of the first tool use, or None."""
    content = message.get("content", [])
    uses = (
        (c for c in content if isinstance(c, dict) and c.get("type") == "tool_use") if isinstance(content, list) else ()
    )
    return next((u.get("name") for u in uses), None)


class Message(Struct, frozen=True):
    type: str
    uuid: str
    timestamp: str
    content: str
    tool_name: str | None = None
    is_error: bool = False


def parse_session(entries: Iterable[Entry]) -> list[Message]:
    """Return the user and assistant messages as a flat list."""
    messages = []
    for entry in entries:
        if entry.type in ("user", "assistant"):
            data = entry.data
            message = data.get("message")
            message = message if isinstance(message, dict) else {}
            name = extract_tool_name(message) if entry.type == "assistant" else None
            error = entry.is_api_error or any(entry.failed(result) for result in entry.results)
            text = extract_text(message)
            messages.append(Message(entry.type, entry.uuid or "", str(entry.timestamp or ""), text, name, error))
    return messages


class Deduplicated(Struct, frozen=True):
    """A streamed message: one entry is final, the others are intermediate. The blocks are those of the final entry."""

    message_id: str
    final: str
    streaming: tuple[str, ...]
    content_blocks: tuple[Block, ...]
    usage: Tokens | None


def deduplicate(entries: Sequence[Entry]) -> dict[str, Deduplicated]:
    """Choose a final entry for each reply: the one with a stop reason, else the one with most output tokens. The
    blocks of the other lines are lost.
    """
    result = {}
    for reply in merge_replies(entries):
        stopped = next((e for e in reply.entries if e.message and e.message.stop_reason), None)
        final = stopped or max(reply.entries, key=_output_tokens)
        intermediate = tuple(e.uuid or "" for e in reply.entries if e is not final)
        usage = final.message.usage if final.message else None
        result[reply.id] = Deduplicated(reply.id, final.uuid or "", intermediate, tuple(final.blocks), usage)
    return result


def _output_tokens(entry: Entry) -> int:
    usage = entry.message.usage if entry.message else None
    return (usage.output_tokens or 0) if usage else 0


def load_session(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Rebuild API messages by request id, without meta entries, and start over at each summary.

    A summary is really a title, usually of another session, so this discards live conversations: use `clew.request`.
    """
    messages: list[dict[str, Any]] = []
    request: str | None = None
    for entry in entries:
        message = entry.data.get("message")
        if entry.type == "user" and not entry.is_meta and isinstance(message, dict):
            messages.append(dict(message))
        elif entry.type == "assistant" and isinstance(message, dict):
            content = message.get("content")
            blocks = list(content) if isinstance(content, list) else [{"type": "text", "text": content}]
            if messages and messages[-1].get("role") == "assistant" and request == entry.request_id:
                messages[-1] = {**messages[-1], "content": [*messages[-1]["content"], *blocks]}
            else:
                messages.append({"role": "assistant", "content": blocks})
            request = entry.request_id
        elif entry.type == "summary":
            text = entry.data.get("summary", "")
            messages = [{"role": "user", "content": f"[Previous conversation summary]: {text}"}]
    return messages
