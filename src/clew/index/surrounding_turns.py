"""Context: the turns around a place in a transcript."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.wire.entry import Entry


@dataclass(frozen=True, slots=True)
class Around:
    """Some turns in sequence, the one with the place among them; `branch` if they are not on the active path."""

    turns: tuple[Turn, ...]
    turn: Turn
    branch: int | None = None
    offset: int = 0

    @property
    def before(self) -> tuple[Turn, ...]:
        """The turns up to the place itself: the last one ends with the entry that stands there."""
        earlier = tuple(turn for turn in self.turns if turn.number < self.turn.number)
        upto = [i for i, entry in enumerate(self.turn.entries) if entry.offset <= self.offset]
        return (*earlier, replace(self.turn, entries=self.turn.entries[: max(upto, default=0) + 1]))


def context(session: Session, offset: int, around: int) -> Around | None:
    """The turn that holds a byte of the file, with so many before and after; None if nobody says anything.

    What stands on no path, as a title does, belongs to the turn that it was written behind.
    """
    for turns, branch in _sequences(session):
        for index, turn in enumerate(turns):
            if any(_holds(entry, offset) for entry in turn.entries):
                return _cut(turns, index, around, branch, offset)
    turns = _whole(session)
    if not turns:
        return None
    behind = [index for index, turn in enumerate(turns) if turn.entries[0].offset <= offset]
    return _cut(turns, max(behind, default=0), around, None, offset)


def _sequences(session: Session) -> Iterator[tuple[tuple[Turn, ...], int | None]]:
    """The turns of the active path, then those of each branch that was left."""
    yield _whole(session), None
    for branch in session.branches:
        if not branch.is_active:
            yield session.turns_of(branch), branch.number


def _whole(session: Session) -> tuple[Turn, ...]:
    """All turns, with what comes before the first prompt as turn 0."""
    return (Turn(0, session.preamble), *session.turns) if session.preamble else session.turns


def _holds(entry: Entry, offset: int) -> bool:
    return entry.offset <= offset < entry.line.end


def _cut(turns: tuple[Turn, ...], index: int, around: int, branch: int | None, offset: int) -> Around:
    return Around(turns[max(0, index - around) : index + around + 1], turns[index], branch, offset)
