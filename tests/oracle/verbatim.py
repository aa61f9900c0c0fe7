"""The comparison to the letter: what the real CLI sent, and what clew says that it sends, without leaving anything out.

What may differ is in `ALLOWED`, with the reason. Everything else has to be equal: reminders, system turns, white space.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from clew.wire.entry import Entry, entries, read

Json = dict[str, Any]

FORM = {
    "marks": "cache_control says where the API may cache; it is no part of the conversation",
    "strings": "a content of one text is sent as a string, or as a block where a cache mark is on it",
}
ALLOWED = {
    "effort": "a system message without content says how much effort a turn gets; it holds nothing of the conversation",
    "turn": "for the new prompt the program writes context of its own into the file (date, tools, environment), which is "
    "taken from there and given to clew",
    "warning": "a task's notification begins with a warning in the program's own words, which clew does not repeat",
    "left out": "clew counts the attachments that the program puts into long texts of its own (`Request.left_out`); theirs "
    "may hold one more reminder or system paragraph for each of them, and nothing else",
    "lost agents": "beside the new prompt the program tells, in its own words, which agents in the background were running "
    "when the session ended; it does not write that down",
    "opening": "before 2.1.290 the program puts context of its own before the first prompt and beside the new one, and does "
    "not write it down",
    "clew's opening": "clew's own chat puts the folder, the system and the date before the first prompt, and does not write "
    "them down",
}


def comparable(messages: Sequence[Json], used: set[str] | None = None) -> list[Json]:
    """Messages without cache marks, each content a list of blocks. `used` gets the names of what was changed."""
    used = set() if used is None else used
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


def written(added: bytes) -> tuple[Entry, ...]:
    """The attachments among the lines that a run wrote."""
    return tuple(e for e in entries(read(added)) if e.type == "attachment" and e.data.get("rendered"))


def unwritten(messages: Sequence[Json]) -> tuple[Entry, ...]:
    """What older versions put beside the new prompt and do not write down: listings and reminders, as attachments."""
    said = comparable(messages)
    system = said.pop() if said and said[-1]["role"] == "system" else None
    texts = [block["text"] for block in said[-1]["content"] if _LISTING.match(_text_of(block))] if said else []
    if system and (found := _LISTING.search(_text_of(system["content"][0]))):
        texts.append(_text_of(system["content"][0])[found.start() :])
    return tuple(entries(read(b"".join(_attachment(text.removesuffix("\n")) for text in texts))))


def _attachment(text: str) -> bytes:
    inside = {"type": "critical_system_reminder", "content": text}
    return json.dumps({"type": "attachment", "attachment": inside}).encode() + b"\n"


def _text_of(block: Any) -> str:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else ""


_LISTING = re.compile(
    r"(?:<system-reminder>\n|^|(?<=\n\n))"
    r"(?:Available agent types for the Agent tool:|The following skills are available for use|<total_tokens>|"
    r"The TodoWrite tool hasn.t been used|The task tools haven.t been used)"
)


def without_opening(messages: Sequence[Json], used: set[str]) -> list[Json]:
    """Without the context that older versions put before the first prompt."""
    first, *rest = messages
    kept = [block for block in first["content"] if not _opens_with(block, OPENING)]
    if len(kept) != len(first["content"]):
        used.add("opening")
    return [message for message in ({**first, "content": kept}, *rest) if message["content"]]


def _opens_with(block: Any, opening: str) -> bool:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return isinstance(text, str) and text.startswith(opening)


def without_context(messages: Sequence[Json]) -> list[Json]:
    """The conversation alone, to compare two releases, which describe themselves in different words."""
    found = []
    for message in comparable(messages):
        blocks = [_without_folded(b) for b in message["content"] if not _opens_with(b, REMINDER)]
        if blocks and message["role"] != "system":
            found.append({**message, "content": blocks})
    return found


def _without_folded(block: Json) -> Json:
    content = block.get("content") if block.get("type") == "tool_result" else None
    return {**block, "content": _FOLDED.split(content)[0]} if isinstance(content, str) else block


def is_beside_left_out(ours: Sequence[Json], theirs: Sequence[Json], left_out: int) -> bool:
    """Whether `theirs` holds everything of `ours` in order, and a reminder or system paragraph for what is left out."""
    mine, other = _pieces(ours), _pieces(theirs)
    runs = at = 0
    is_extra = False
    for index, piece in enumerate(other):
        follows = index + 1 < len(other) and _is_context(other[index + 1])
        if at < len(mine) and (piece == mine[at] or (follows and _ended(piece) == _ended(mine[at]))):
            at += 1
            is_extra = False
        elif _is_context(piece):
            runs += not is_extra
            is_extra = True
        else:
            return False
    return at == len(mine) and runs <= left_out


def _pieces(messages: Sequence[Json]) -> list[tuple[str, Any]]:
    """Blocks with their roles; context in a tool result, and the paragraphs of a system turn, are pieces of their own."""
    found: list[tuple[str, Any]] = []
    for message in messages:
        for block in message["content"]:
            content = block.get("content") if block.get("type") == "tool_result" else None
            if message["role"] == "system":
                found.extend(("system", part) for part in block["text"].split("\n\n"))
            elif isinstance(content, str):
                head, *folded = _FOLDED.split(content)
                found.append((message["role"], {**block, "content": head}))
                found.extend(("user", {"type": "text", "text": part}) for part in folded)
            elif isinstance(content, list):
                own = [part for part in content if not _opens_with(part, REMINDER)]
                found.append((message["role"], {**block, "content": own}))
                found.extend(("user", part) for part in content if _opens_with(part, REMINDER))
            else:
                found.append((message["role"], block))
    return found


def _is_context(piece: tuple[str, Any]) -> bool:
    role, block = piece
    return role == "system" or (role == "user" and _opens_with(block, REMINDER))


def _ended(piece: tuple[str, Any]) -> tuple[str, Any]:
    """A piece without the white space that a further text takes away from a result, or puts behind a text."""
    role, block = piece
    if role == "system":
        return piece
    content = block.get("content") if block.get("type") == "tool_result" else None
    if isinstance(content, str):
        return role, {**block, "content": content.strip()}
    if isinstance(content, list) and content and _text_of(content[-1]):
        last = {**content[-1], "text": content[-1]["text"].rstrip("\n")}
        return role, {**block, "content": [*content[:-1], last]}
    return (role, {**block, "text": block["text"].rstrip("\n")}) if isinstance(block.get("text"), str) else piece


def without_clew_opening(messages: Sequence[Json]) -> list[Json]:
    """Without what clew's own chat puts before the first prompt."""
    first, *rest = comparable(messages)
    kept = first["content"][1:] if _opens_with(first["content"][0], CLEW_OPENING) else first["content"]
    return [{**first, "content": kept}, *rest]


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
REMINDER = "<system-reminder>"
_FOLDED = re.compile(r"\n\n(?=<system-reminder>\n)")
OPENING = "<system-reminder>\nAs you answer the user's questions"
CLEW_OPENING = "<system-reminder>\nFolder: "
