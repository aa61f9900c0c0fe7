"""Words: the one answer to what of an entry can be searched and shown, and as which field.

prompt, reply, thinking, input (what a tool was asked), result (what it said), meta (what the program wrote for the model).
Images and other base64 are never words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

from msgspec import Struct

from clew.conversation.speaker import prompt_text, queued_text, speaker
from clew.wire.content_block import Block
from clew.wire.entry import BaseEntry

FIELDS = ("prompt", "reply", "thinking", "input", "result", "meta")
_SAID = {"prompt": "prompt", "command": "prompt", "bash": "prompt", "teammate": "prompt", "peer": "prompt"}
_HOLDERS = (str, dict, list)
_LONG = 256  # longer than any word or digest
_ENCODED = re.compile(rf"(data:[^,\s]{{0,80}};base64,)?[A-Za-z0-9+/_-]{{{_LONG},}}={{0,2}}")


class Words(Struct, frozen=True, gc=False):
    """A piece of text, the field it belongs to, and the tool it concerns."""

    field: str
    text: str
    tool: str = ""
    failed: bool = False


def words(entry: BaseEntry, tools: Sequence[str] = ()) -> list[Words]:
    """The pieces of an entry, in order; none for entries that say nothing.

    `tools` are the names of the tools whose results the entry holds, of those results that have text.
    """
    kind = entry.type
    if kind == "assistant":
        return _said(entry)
    if kind == "user":
        return _asked(entry, tools)
    return _attached(entry) if kind == "attachment" else []


def _said(entry: BaseEntry) -> list[Words]:
    content = entry.message.content if entry.message else None
    field = "meta" if entry.is_synthetic and not entry.is_api_error else "reply"
    if not isinstance(content, list):
        return [Words(field, content)] if content else []
    found = []
    for block in content:
        kind = block.type
        if kind == "text":
            if block.text:
                found.append(Words(field, block.text))
        elif kind == "tool_use" or kind == "server_tool_use":
            if text := input_text(block.input):
                found.append(Words("input", text, block.name or ""))
        elif kind == "thinking" and block.thinking:
            found.append(Words("thinking", block.thinking))
    return found


def _asked(entry: BaseEntry, tools: Sequence[str]) -> list[Words]:
    message = entry.message
    content = message.content if message else None
    if isinstance(content, list):
        results = [block for block in content if block.type == "tool_result"]
        if results:
            told = [(block, text) for block in results if (text := _result(block))]
            names = chain(tools, repeat(""))
            found = [
                Words("result", text, "", entry.failed(b, tool)) for (b, text), tool in zip(told, names, strict=False)
            ]
            beside = entry.text if len(results) < len(content) else ""
            return [*found, Words("meta", beside)] if beside else found
    kind = speaker(entry)
    text = prompt_text(entry) if kind in _SAID else entry.text
    return [Words(_SAID.get(kind, "meta"), text)] if text else []


def _result(block: Block) -> str:
    content = block.content
    return content if isinstance(content, str) else block.result_text


def _attached(entry: BaseEntry) -> list[Words]:
    """Of the attachments only what a person typed while the model was working."""
    text = queued_text(entry)
    return [Words("prompt", text)] if text.strip() else []


def input_text(given: Any) -> str:
    """The strings of a tool's input, one to a line."""
    if not isinstance(given, dict):
        return "\n".join(_strings(given))
    flat = []
    for value in given.values():
        if isinstance(value, str) and len(value) < _LONG:
            flat.append(value)
        elif isinstance(value, _HOLDERS):
            return "\n".join(_strings(given))
    return "\n".join(flat)


def _strings(value: Any) -> list[str]:
    found: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not _ENCODED.fullmatch(item):
                found.append(item)
        elif isinstance(item, dict):
            hidden = "data" if "media_type" in item else None  # the source of an image, however small
            stack.extend([v for k, v in item.items() if k != hidden][::-1])
        elif isinstance(item, list):
            stack.extend(item[::-1])
    return found
