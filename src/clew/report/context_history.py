"""Measure the context window of a session turn by turn, and estimate its parts.

The API reports the size with each reply. The parts are estimated from the text; the remainder is counted as "system": the
system prompt, the tools, and what Claude Code adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clew.conversation.session import Session
from clew.facts.context_size import CATEGORIES, weigh
from clew.facts.token_usage import count
from clew.models import window_of
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


def context_points(session: Session) -> list[ContextPoint]:
    """Return a point for each answered turn of the active path."""
    return list(_iterate_points(session))


def context_window(session: Session, points: Sequence[ContextPoint]) -> int:
    """Return the limit of the model that answered last; the long one, if more than the usual was used."""
    models = [
        m.model or ""
        for reply in session.replies
        if (m := reply.entries[-1].message) and not reply.entries[-1].is_synthetic
    ]
    return window_of(models[-1], max((point.tokens for point in points), default=0)) if models else 0


def _iterate_points(session: Session) -> Iterator[ContextPoint]:
    weights = dict.fromkeys(KINDS, 0)
    is_compacted = False
    for turn in session.turns:
        weights["thinking"] = 0  # thinking of earlier turns is not sent again
        last: tuple[Entry, int, dict[str, int]] | None = None  # the last report of the turn, and the weights up to it
        is_marked = False
        for entry in turn.entries:
            if entry.is_boundary:
                weights = dict.fromkeys(KINDS, 0)
                is_compacted = True
            _add_entry(entry, weights)
            if tokens := _window_size(entry):
                last = entry, tokens, weights.copy()
                is_marked, is_compacted = is_marked or is_compacted, False
        if last is not None:
            entry, tokens, counted = last
            time = entry.time or turn.time
            when = int(time.timestamp()) if time else -1
            yield ContextPoint(turn.number, turn.text, when, tokens, _scale_parts(counted, tokens), is_marked)


def _add_entry(entry: Entry, weights: dict[str, int]) -> None:
    for kind, share in weigh(entry, entry.message.model if entry.message else None):
        weights[kind] += share.tokens


def _window_size(entry: Entry) -> int:
    """Return the tokens of the window that a reply reports: input and output; 0 if it reports none."""
    message = entry.message
    if entry.type != "assistant" or message is None or message.usage is None or entry.is_synthetic:
        return 0
    return count(message.usage).total


def _scale_parts(weights: dict[str, int], tokens: int) -> dict[str, int]:
    """Return the weights as tokens. If the estimate exceeds the reported total, scale all parts down."""
    known = sum(weights.values())
    parts = {kind: weight * tokens // known if known > tokens else weight for kind, weight in weights.items()}
    parts["system"] += tokens - sum(parts.values())
    return parts
