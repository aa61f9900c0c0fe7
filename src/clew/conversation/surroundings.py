"""Messages around a place in a session: a line of its file, or an entry by its uuid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from clew.errors import Ambiguous, NotFound
from clew.system.plural import plural
from clew.wire.entry import Entry

if TYPE_CHECKING:
    from clew.conversation.session import Session

IsShown = Callable[["Session", Entry], bool]

_MESSAGES = ("user", "assistant")
_SHORTEST_UUID = 8  # characters of the beginning of a uuid; fewer digits are the number of a line


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Messages in sequence, with the one at the place among them.

    `session` holds them: the session itself or one of its agents. `branch` is the number of the branch if they are not on
    the active path, `agent` the id of the agent.
    """

    session: Session
    place: Entry
    entries: tuple[Entry, ...]
    branch: int | None = None
    agent: str = ""


def messages_around(
    session: Session, place: str | int, count: int = 5, is_shown: IsShown | None = None
) -> Surroundings:
    """The message at a line number or uuid, with up to `count` messages on either side. Raises NotFound.

    A message is a line of the type user or assistant. A line of another type stands for the message before it.
    Messages for which `is_shown` is false are left out and not counted, except the one at the place.
    """
    owner, entry, agent = _locate(session, str(place))
    for path, branch in _paths(owner):
        messages = [each for each in path if each.type in _MESSAGES]
        if entry.type in _MESSAGES and entry not in messages:
            continue
        if messages:
            return _window(owner, messages, entry, (count, is_shown), branch, agent)
    beside = [e for e in owner.entries if e.type in _MESSAGES and e.is_sidechain == entry.is_sidechain]
    if not beside:
        raise NotFound(str(place), "message")
    return _window(owner, beside, entry, (count, is_shown), None, agent)


def _window(
    session: Session,
    messages: Sequence[Entry],
    entry: Entry,
    wanted: tuple[int, IsShown | None],
    branch: int | None,
    agent: str,
) -> Surroundings:
    count, is_shown = wanted
    earlier = [index for index, each in enumerate(messages) if each.offset <= entry.offset]
    at = messages.index(entry) if entry in messages else max(earlier, default=0)

    def shown(side: Iterable[Entry]) -> list[Entry]:
        return list(islice((each for each in side if is_shown is None or is_shown(session, each)), count))

    before, after = shown(reversed(messages[:at])), shown(messages[at + 1 :])
    return Surroundings(session, messages[at], (*reversed(before), messages[at], *after), branch, agent)


def _locate(session: Session, place: str) -> tuple[Session, Entry, str]:
    """The entry that is meant, the session that holds it and the agent whose session that is."""
    if place.isascii() and place.isdigit() and len(place) < _SHORTEST_UUID:
        return session, _at_line(session, int(place)), ""
    matches: dict[str, tuple[Session, Entry, str]] = {}
    if len(place) >= _SHORTEST_UUID:
        for owner, agent in ((session, ""), *((agent.session, agent.id) for agent in session.agents)):
            for entry in owner.entries:
                if entry.uuid and entry.uuid.startswith(place.lower()):
                    matches.setdefault(entry.uuid, (owner, entry, agent))
    if len(matches) > 1:
        raise Ambiguous(place, sorted(matches), kind="lines")
    if not matches:
        missing = NotFound(place, "line or uuid")
        missing.hint = f"Name a line from 1 to {_last(session)}, or at least {_SHORTEST_UUID} characters of a uuid."
        raise missing
    return next(iter(matches.values()))


def _at_line(session: Session, number: int) -> Entry:
    """The entry on a line; of a line that holds none the one before it, else the first."""
    if not 1 <= number <= _last(session):
        missing = NotFound(str(number), "line")
        missing.hint = f"The file has {plural(_last(session), 'line')}."
        raise missing
    if not session.entries:
        raise NotFound(str(number), "message")
    return max((e for e in session.entries if e.line.number <= number), key=_order, default=session.entries[0])


def _order(entry: Entry) -> int:
    return entry.line.number


def _last(session: Session) -> int:
    last = session.items[-1].line if session.items else None
    return last.number + last.count - 1 if last else 0


def _paths(session: Session) -> Iterator[tuple[tuple[Entry, ...], int | None]]:
    """The active path, then the branches that were left."""
    yield session.active, None
    for branch in session.branches:
        if not branch.is_active:
            turns = session.turns_of(branch)
            yield tuple(entry for turn in turns for entry in turn.entries), branch.number
