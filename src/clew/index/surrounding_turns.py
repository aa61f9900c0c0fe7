"""Find the turns around a position in a transcript."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.wire.entry import Entry


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """Turns in sequence around the one with the position; `branch` is set if they are not on the active path."""

    turns: tuple[Turn, ...]
    turn: Turn
    branch: int | None = None
    offset: int = 0

    @property
    def before(self) -> tuple[Turn, ...]:
        """The turns up to the position; the last one ends with the entry at the position."""
        earlier = tuple(turn for turn in self.turns if turn.number < self.turn.number)
        indexes = [i for i, entry in enumerate(self.turn.entries) if entry.offset <= self.offset]
        return (*earlier, replace(self.turn, entries=self.turn.entries[: max(indexes, default=0) + 1]))


def turns_around(session: Session, offset: int, around: int) -> TurnWindow | None:
    """Return the turn that contains a byte of the file, with `around` turns before and after; None without turns.

    An entry outside all paths, such as a title, belongs to the turn before it.
    """
    for turns, branch in _paths(session):
        for index, turn in enumerate(turns):
            if any(_contains(entry, offset) for entry in turn.entries):
                return _window(turns, index, around, branch, offset)
    turns = _all_turns(session)
    if not turns:
        return None
    started = [index for index, turn in enumerate(turns) if turn.entries[0].offset <= offset]
    return _window(turns, max(started, default=0), around, None, offset)


def _paths(session: Session) -> Iterator[tuple[tuple[Turn, ...], int | None]]:
    """Yield the turns of the active path, then those of each abandoned branch."""
    yield _all_turns(session), None
    for branch in session.branches:
        if not branch.is_active:
            yield session.turns_of(branch), branch.number


def _all_turns(session: Session) -> tuple[Turn, ...]:
    """Return all turns; entries before the first prompt are turn 0."""
    return (Turn(0, session.preamble), *session.turns) if session.preamble else session.turns


def _contains(entry: Entry, offset: int) -> bool:
    return entry.offset <= offset < entry.line.end


def _window(turns: tuple[Turn, ...], index: int, around: int, branch: int | None, offset: int) -> TurnWindow:
    return TurnWindow(turns[max(0, index - around) : index + around + 1], turns[index], branch, offset)
