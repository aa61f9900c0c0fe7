"""Places in a session, as people name them: `3` or `-1`, the end of a turn; `b2`, that of a branch; a uuid, an entry."""

from __future__ import annotations

from clew.conversation.session import Session
from clew.conversation.speaker import has_caveat
from clew.conversation.turns import without_caveat, without_compaction
from clew.errors import NotFound
from clew.system import shell_quoting
from clew.wire.entry import Entry


def spot(session: Session, place: str = "") -> Entry:
    """The last entry on the way to a place; without one the entry that the session goes on from. Raises NotFound."""
    found = _found(session, place) if place else session.leaf
    if found is None:
        raise _missing(session, place)
    return found


def _found(session: Session, place: str) -> Entry | None:
    if place.startswith("b") and place[1:].isdigit():
        turns = [session.turns_of(b) for b in session.branches if b.number == int(place[1:])]
        return turns[0][-1].entries[-1] if turns else None
    if place.removeprefix("-").isdigit() and len(place) < 8:  # a longer one may begin a uuid
        count = len(session.turns)
        number = int(place) + count + 1 if place.startswith("-") else int(place)
        return _end(session, number) if 1 <= number <= count else None
    ends = [entry for uuid, entry in session.links.nodes.items() if uuid and uuid.startswith(place)]
    return ends[0] if len(ends) == 1 else None


def _end(session: Session, number: int) -> Entry:
    """The last entry of a turn. A caveat, or a compaction after the last reply, belongs to the turn that follows."""
    entries = session.turns[number - 1].entries
    if number == len(session.turns):
        return entries[-1]
    if has_caveat(session.turns[number].prompt):
        entries = without_caveat(entries)
    return without_compaction(entries)[-1]


def _missing(session: Session, place: str) -> NotFound:
    missing = NotFound(place or session.id, kind="place in the session" if place else "turn in the session")
    turns, branches = len(session.turns), len(session.branches)
    named = f"turns 1 to {turns}, branches b1 to b{branches}" if turns else "no turns"
    missing.hint = f"It has {named}: {shell_quoting.session_command('trace', session.id)}"
    return missing
