"""Find an entry by the name a user gives: turn `3` or `-1`, branch `b2`, or a uuid."""

from __future__ import annotations

from clew.conversation.session import Session
from clew.conversation.speaker import has_caveat
from clew.conversation.turns import strip_caveats, strip_compaction
from clew.errors import NotFound
from clew.system import shell_quoting
from clew.wire.entry import Entry


def locate_entry(session: Session, position: str = "") -> Entry:
    """Return the last entry of a turn or branch, or the entry with a uuid; without a name the leaf of the session.
    Raises NotFound.
    """
    entry = _parse_position(session, position) if position else session.leaf
    if entry is None:
        raise _position_error(session, position)
    return entry


def _parse_position(session: Session, position: str) -> Entry | None:
    if position.startswith("b") and position[1:].isdigit():
        turns = [session.turns_of(b) for b in session.branches if b.number == int(position[1:])]
        return turns[0][-1].entries[-1] if turns else None
    if position.removeprefix("-").isdigit() and len(position) < 8:  # a longer one may begin a uuid
        count = len(session.turns)
        number = int(position) + count + 1 if position.startswith("-") else int(position)
        return _turn_end(session, number) if 1 <= number <= count else None
    ends = [entry for uuid, entry in session.links.nodes.items() if uuid and uuid.startswith(position)]
    return ends[0] if len(ends) == 1 else None


def _turn_end(session: Session, number: int) -> Entry:
    """Return the last entry of a turn. A caveat, or a compaction after the last reply, belongs to the next turn."""
    entries = session.turns[number - 1].entries
    if number == len(session.turns):
        return entries[-1]
    if has_caveat(session.turns[number].prompt):
        entries = strip_caveats(entries)
    return strip_compaction(entries)[-1]


def _position_error(session: Session, position: str) -> NotFound:
    turns, branches = len(session.turns), len(session.branches)
    positions = f"turns 1 to {turns}, branches b1 to b{branches}" if turns else "no turns"
    return NotFound(
        position or session.id,
        kind="place in the session" if position else "turn in the session",
        hint=f"It has {positions}: {shell_quoting.session_command('trace', session.id)}",
    )
