"""The conversation itself, without what Claude Code adds to a request on its own.

Applied to both sides of each comparison. Gone are cache marks, system turns, reminders with the white space
around them, newlines at the end of a text, and whatever is empty after that. A message whose content is a
string has one text block instead; the content of a tool result stays a string or blocks, whichever it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def normalise(messages: Iterable[Json]) -> list[Json]:
    turns = [
        {"role": message["role"], "content": _blocks(message["content"])}
        for message in messages
        if message["role"] != "system"
    ]
    return [turn for turn in turns if turn["content"]]


def _blocks(content: str | list[Json] | None) -> list[Json]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = map(_block, content or [])
    return [
        block for block in blocks if not isinstance(block, dict) or block.get("type") != "text" or block.get("text")
    ]


def _block(block: Any) -> Any:
    if not isinstance(block, dict):  # odd sessions hold strings among the blocks, and some versions send them
        return block
    kept = {key: value for key, value in block.items() if key != "cache_control"}
    match kept.get("type"):
        case "text" if isinstance(kept.get("text"), str):
            kept["text"] = _unreminded(kept["text"]).rstrip("\n")
        case "tool_result":
            content = kept.get("content")
            kept["content"] = _unreminded(content) if isinstance(content, str) else _blocks(content)
    return kept


def _unreminded(text: str) -> str:
    return _REMINDER.sub("", text)
