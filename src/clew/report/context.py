"""Context: how the window of a session filled up, turn by turn, and with what.

How large it was, the API said with each reply. What it was made of is estimated from the text; what the text does not
explain is the system's: its prompt, the tools, and what the program puts in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clew.conversation.session import Session
from clew.conversation.turn import Turn
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
    for turn in session.turns:
        letters["thinking"] = 0  # that of earlier turns is not sent again
        is_compacted = False
        for entry in turn.entries:
            if entry.is_boundary or entry.is_compact_summary:
                is_compacted = True
                letters = dict.fromkeys(KINDS, 0)
            _add(entry, letters)
        tokens = _size(turn)
        if tokens:
            time = turn.entries[-1].time or turn.time
            yield Point(
                turn.number,
                turn.text,
                int(time.timestamp()) if time else -1,
                tokens,
                _parts(letters, tokens),
                is_compacted,
            )


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


def _size(turn: Turn) -> int:
    """What the last reply says of the window: what was sent, and what came."""
    sizes = [count(reply.tokens) for reply in turn.replies if reply.tokens and not reply.is_synthetic]
    return sizes[-1].total if sizes else 0


def _parts(letters: dict[str, int], tokens: int) -> dict[str, int]:
    """Letters as tokens; where the estimate is above what there was, all of it in proportion."""
    found = {kind: letters[kind] // LETTERS for kind in KINDS}
    known = sum(found.values())
    if known > tokens:
        found = {kind: number * tokens // known for kind, number in found.items()}
    found["system"] += tokens - sum(found.values())
    return found
