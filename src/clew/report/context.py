"""Context: how the window of a session filled up, turn by turn, and with what.

How large it was, the API said with each reply. What it was made of is estimated from the text; what the text does not
explain is the system's: its prompt, the tools, and what the program puts in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clew.conversation.session import Session
from clew.facts.usage import LETTERS, count
from clew.wire.encode import encode
from clew.wire.entry import Entry

KINDS = ("system", "prompts", "replies", "thinking", "tool input", "tool result")


class Point(NamedTuple):
    """The window at the end of a turn. `parts` are tokens by kind and add up to `tokens`."""

    number: int
    text: str
    when: int
    tokens: int
    parts: dict[str, int]
    is_compacted: bool


def context(session: Session) -> list[Point]:
    """A point for each turn of the active path that was answered."""
    return list(_points(session))


def _points(session: Session) -> Iterator[Point]:
    letters = dict.fromkeys(KINDS, 0)
    is_compacted = False
    for turn in session.turns:
        letters["thinking"] = 0  # that of earlier turns is not sent again
        point: Point | None = None
        for entry in turn.entries:
            if entry.is_boundary:
                letters = dict.fromkeys(KINDS, 0)
                is_compacted = True
            _add(entry, letters)
            if tokens := _size(entry):
                time = entry.time or turn.time
                when = int(time.timestamp()) if time else -1
                mark = is_compacted or (point is not None and point.is_compacted)
                point = Point(turn.number, turn.text, when, tokens, _parts(letters, tokens), mark)
                is_compacted = False
        if point is not None:
            yield point


def _add(entry: Entry, letters: dict[str, int]) -> None:
    if entry.type not in ("user", "assistant"):
        return
    spoken = "replies" if entry.type == "assistant" else "prompts"
    for block in entry.blocks:
        if block.type == "tool_use":
            letters["tool input"] += len(encode(block.input))
        elif block.type == "tool_result":
            letters["tool result"] += len(block.result_text)
        else:
            letters["thinking" if block.type == "thinking" else spoken] += len(block.thinking or block.text or "")


def _size(entry: Entry) -> int:
    """What a reply says of the window: what was sent, and what came."""
    message = entry.message
    if entry.type != "assistant" or message is None or message.usage is None or entry.is_synthetic:
        return 0
    return count(message.usage).total


def _parts(letters: dict[str, int], tokens: int) -> dict[str, int]:
    """Letters as tokens; where the estimate is above what there was, all of it in proportion."""
    found = {kind: letters[kind] // LETTERS for kind in KINDS}
    known = sum(found.values())
    if known > tokens:
        found = {kind: number * tokens // known for kind, number in found.items()}
    found["system"] += tokens - sum(found.values())
    return found
