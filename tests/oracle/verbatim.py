"""The comparison to the letter: what the real CLI sent, and what clew says that it sends, without leaving anything out.

What may differ is in `ALLOWED`, with the reason. Everything else has to be equal: reminders, system turns, white space.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from clew.conversation.draft import has_system_turns, unwrapped

Json = dict[str, Any]

ALLOWED = {
    "marks": "cache_control says where the API may cache; it is no part of the conversation",
    "strings": "a content of one text is sent as a string, or as a block where a cache mark is on it",
    "effort": "a system message without content says how much effort a turn gets; it holds nothing of the conversation",
    "turn": "for the new prompt the program writes context of its own into the file (date, tools, environment), which is "
    "taken from there and added to what clew says",
    "opening": "before 2.1.290 the program puts context of its own before the first prompt and does not write it down",
}


def comparable(messages: Sequence[Json], used: set[str]) -> list[Json]:
    """Messages without cache marks, each content a list of blocks. `used` gets the names of what was changed."""
    found = []
    for message in messages:
        if message["role"] == "system" and not message["content"]:
            used.add("effort")
        else:
            blocks = [_block(block, used) for block in _blocks(message["content"], used)]
            found.append({"role": message["role"], "content": blocks})
    return found


def _blocks(content: Any, used: set[str]) -> list[Any]:
    if isinstance(content, str):
        used.add("strings")
        return [{"type": "text", "text": content}]
    return list(content or [])


def _block(block: Any, used: set[str]) -> Any:
    if isinstance(block, dict) and "cache_control" in block:
        used.add("marks")
        return {key: value for key, value in block.items() if key != "cache_control"}
    return block


def written(before: bytes, after: bytes) -> list[Json]:
    """The attachments that a run wrote behind what a file held."""
    lines = after[len(before) :].splitlines() if after.startswith(before) else []
    entries = [json.loads(line) for line in lines if line.strip()]
    return [entry for entry in entries if entry.get("type") == "attachment" and entry.get("rendered")]


def with_turn(messages: Sequence[Json], attachments: Sequence[Json], model: str, used: set[str]) -> list[Json]:
    """What clew says, with the context that the program wrote down for the new prompt."""
    texts: list[str] = []
    turns: list[str] = []
    for entry in attachments:
        parts = [str(part["content"]) for part in entry["rendered"]]
        if entry.get("renderedRole") == "system" and has_system_turns(model):
            turns.append("\n".join(map(unwrapped, parts)))
        else:
            texts.extend(parts)
    found = list(messages)
    if texts or turns:
        used.add("turn")
    if texts:
        at = max(index for index, message in enumerate(found) if message["role"] == "user")
        *before, prompt = found[at]["content"]
        added = [{"type": "text", "text": text} for text in (*texts[:-1], texts[-1] + "\n")]
        found[at] = {**found[at], "content": [*before, *added, prompt]}
    if turns and found[-1]["role"] == "system":
        turns.insert(0, found.pop()["content"][0]["text"])
    if turns:
        found.append({"role": "system", "content": [{"type": "text", "text": "\n\n".join(turns)}]})
    return found


def without_opening(messages: Sequence[Json], used: set[str]) -> list[Json]:
    """Without the context that older versions put before the first prompt and into the new one."""
    found = [dict(message) for message in messages]
    for index in {0, len(found) - 1} if found else ():
        if found[index]["role"] != "user":
            continue
        opening = OPENING if index == 0 else "<system-reminder>"
        kept = [b for b in found[index]["content"] if not _opens_with(b, opening)]
        if len(kept) != len(found[index]["content"]):
            used.add("opening")
            found[index]["content"] = kept
    return found


def _opens_with(block: Json, opening: str) -> bool:
    text = block.get("text") if block.get("type") == "text" else None
    return isinstance(text, str) and text.startswith(opening)


OPENING = "<system-reminder>\nAs you answer the user's questions"
