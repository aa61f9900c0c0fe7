"""Words: the one answer to what of an entry can be searched and shown, and as which field.

prompt, reply, thinking, input (what a tool was asked), result (what it said), meta (what the program wrote for the model).
Images and other base64 are never words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Raw

from clew.conversation.prompt import prompt_text, speaker
from clew.wire.block import Block
from clew.wire.encode import decode
from clew.wire.entry import Entry

FIELDS = ("prompt", "reply", "thinking", "input", "result", "meta")
_SAID = {"prompt": "prompt", "command": "prompt", "bash": "prompt", "teammate": "prompt", "peer": "prompt"}
_HELD_BACK = frozenset({"signature", "data"})  # keys whose values are not for reading


class Words(NamedTuple):
    """A piece of text, the field it belongs to, and the tool it concerns."""

    field: str
    text: str
    tool: str = ""
    failed: bool = False


def words(entry: Entry) -> Iterator[Words]:
    """The pieces of an entry, in order; nothing for entries that say nothing."""
    if entry.type == "assistant":
        for block in entry.blocks:
            yield from _said(block)
    elif entry.type == "user":
        yield from _asked(entry)
    elif entry.type == "attachment":
        yield from _attached(entry)


def _said(block: Block) -> Iterator[Words]:
    if block.type == "text" and block.text:
        yield Words("reply", block.text)
    elif block.type == "thinking" and block.thinking:
        yield Words("thinking", block.thinking)
    elif block.type in ("tool_use", "server_tool_use") and block.input:
        yield Words("input", input_text(block.input), block.name or "")


def _asked(entry: Entry) -> Iterator[Words]:
    results = entry.results
    for block in results:
        text = block.result_text
        if text:
            yield Words("result", text, failed=block.failed)
    if results:
        if entry.text:
            yield Words("meta", entry.text)
        return
    kind = speaker(entry)
    text = prompt_text(entry) if kind in _SAID else entry.text
    if text:
        yield Words(_SAID.get(kind, "meta"), text)


def _attached(entry: Entry) -> Iterator[Words]:
    """Of the attachments only what a person typed while the model was busy."""
    value: Any = decode(entry.attachment)
    if not isinstance(value, dict) or value.get("type") != "queued_command":
        return
    origin = value.get("origin")
    if value.get("commandMode") in (None, "prompt") and not (
        isinstance(origin, dict) and origin.get("kind") not in (None, "human")
    ):
        prompt = value.get("prompt")
        parts = prompt if isinstance(prompt, list) else [{"type": "text", "text": prompt}]
        text = "\n".join(
            str(p.get("text") or "") for p in parts if isinstance(p, dict) and p.get("type") == "text"
        )
        if text.strip():
            yield Words("prompt", text)


def input_text(raw: Raw) -> str:
    """The strings of a tool's input, one to a line."""
    return "\n".join(_strings(decode(raw)))


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(v for k, v in reversed(item.items()) if k not in _HELD_BACK)
        elif isinstance(item, list):
            stack.extend(reversed(item))
