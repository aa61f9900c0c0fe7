"""The comparison to the letter: what the real CLI sent, and what clew says that it sends, without leaving anything out.

What may differ is in `ALLOWED`, with the reason. Everything else has to be equal: reminders, system turns, white space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from clew.wire.entry import Entry, entries, read

Json = dict[str, Any]

ALLOWED = {
    "marks": "cache_control says where the API may cache; it is no part of the conversation",
    "strings": "a content of one text is sent as a string, or as a block where a cache mark is on it",
    "effort": "a system message without content says how much effort a turn gets; it holds nothing of the conversation",
    "turn": "for the new prompt the program writes context of its own into the file (date, tools, environment), which is "
    "taken from there and given to clew",
    "warning": "a task's notification begins with a warning in the program's own words, which clew does not repeat",
    "left out": "clew counts the attachments that the program puts into long texts of its own (`Request.left_out`); such a "
    "request is compared without reminders and system turns",
    "lost agents": "beside the new prompt the program tells, in its own words, which agents in the background were running "
    "when the session ended; it does not write that down",
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
        block = {key: value for key, value in block.items() if key != "cache_control"}
    text = block.get("text") if isinstance(block, dict) else None
    if isinstance(text, str) and _WARNING.match(text):
        used.add("warning")
        return {**block, "text": _WARNING.sub(r"\1", text, count=1)}
    return block


_WARNING = re.compile(r"(<system-reminder>\n|)\[SYSTEM NOTIFICATION - NOT USER INPUT\]\n.*?\n\n", re.DOTALL)


def written(before: bytes, after: bytes) -> tuple[Entry, ...]:
    """The attachments that a run wrote behind what a file held."""
    added = entries(read(after[len(before) :])) if after.startswith(before) else ()
    return tuple(entry for entry in added if entry.type == "attachment" and entry.data.get("rendered"))


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


def without_lost_agents(messages: Sequence[Json], used: set[str]) -> list[Json]:
    """Without what the program tells beside the new prompt about agents that were running when the session ended."""
    found = []
    for message in messages:
        kept = [block for block in message["content"] if not _tells_of_lost_agent(block)]
        if len(kept) != len(message["content"]):
            used.add("lost agents")
        found.append({**message, "content": kept})
    return found


def _tells_of_lost_agent(block: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) else None
    return isinstance(text, str) and "<task-notification>" in text and _LOST in text


_LOST = "didn't finish before the previous session ended"
OPENING = "<system-reminder>\nAs you answer the user's questions"
