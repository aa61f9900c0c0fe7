"""Context: what was said around a match. It reads the session, as showing it does."""

from __future__ import annotations

from bisect import bisect_right

from clew.conversation.open import read
from clew.conversation.turn import Turn


def context(path: str, offset: int, turns: int = 1) -> list[Turn]:
    """The turn that a line of a transcript belongs to, with as many on either side; for a title the first ones."""
    session = read(path)
    others = (session.turns_of(branch) for branch in session.branches if not branch.is_active)
    for way in (session.turns, *others):
        for at, turn in enumerate(way):
            if any(entry.offset == offset for entry in turn.entries):
                return list(way[max(0, at - turns) : at + turns + 1])
    at = max(0, bisect_right([turn.prompt.offset for turn in session.turns], offset) - 1)
    return list(session.turns[max(0, at - turns) : at + turns + 1])
