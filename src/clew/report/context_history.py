"""Context: how the window of a session filled up, turn by turn, and with what.

How large it was, the API said with each reply. What it was made of is estimated from the text; what the text does not
explain is the system's: its prompt, the tools, and what the program puts in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clew.conversation.session import Session
from clew.facts.context_size import CATEGORIES, weigh
from clew.facts.token_usage import count
from clew.wire.entry import Entry

KINDS = ("system", *CATEGORIES)


class ContextPoint(NamedTuple):
    """The window at the end of a turn. `parts` are tokens by kind and add up to `tokens`."""

    number: int
    text: str
    when: int
    tokens: int
    parts: dict[str, int]
    is_compacted: bool


def context(session: Session) -> list[ContextPoint]:
    """A point for each turn of the active path that was answered."""
    return list(_points(session))


def _points(session: Session) -> Iterator[ContextPoint]:
    weights = dict.fromkeys(KINDS, 0)
    is_compacted = False
    for turn in session.turns:
        weights["thinking"] = 0  # that of earlier turns is not sent again
        point: ContextPoint | None = None
        for entry in turn.entries:
            if entry.is_boundary:
                weights = dict.fromkeys(KINDS, 0)
                is_compacted = True
            _add(entry, weights)
            if tokens := _size(entry):
                time = entry.time or turn.time
                when = int(time.timestamp()) if time else -1
                mark = is_compacted or (point is not None and point.is_compacted)
                point = ContextPoint(turn.number, turn.text, when, tokens, _parts(weights, tokens), mark)
                is_compacted = False
        if point is not None:
            yield point


def _add(entry: Entry, weights: dict[str, int]) -> None:
    for kind, share in weigh(entry, entry.message.model if entry.message else None):
        weights[kind] += share.tokens


def _size(entry: Entry) -> int:
    """What a reply says of the window: what was sent, and what came."""
    message = entry.message
    if entry.type != "assistant" or message is None or message.usage is None or entry.is_synthetic:
        return 0
    return count(message.usage).total


def _parts(weights: dict[str, int], tokens: int) -> dict[str, int]:
    """The weights as tokens; where the estimate is above what there was, all of it in proportion."""
    known = sum(weights.values())
    found = {kind: weight * tokens // known if known > tokens else weight for kind, weight in weights.items()}
    found["system"] += tokens - sum(found.values())
    return found
