"""Find the messages around a position in a session: a line number or a uuid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.errors import Ambiguous, NotFound
from clew.system.plural import plural
from clew.wire.entry import Entry

if TYPE_CHECKING:
    from clew.conversation.session import Session

IsShown = Callable[["Session", Entry], bool]

_MESSAGES = ("user", "assistant")
_SHORTEST_UUID = 8  # characters of the beginning of a uuid; fewer digits are the number of a line


class Surroundings(Struct, frozen=True):
    """Consecutive messages, including the one at the position (`place`).

    `session` contains them: the session itself or one of its agents. `branch` is the number of the branch if they
    are not on the active path, `agent` the id of the agent.
    """

    session: Session
    place: Entry
    entries: tuple[Entry, ...]
    branch: int | None = None
    agent: str = ""


def messages_around(
    session: Session, position: str | int, count: int = 5, is_shown: IsShown | None = None
) -> Surroundings:
    """Return the message at a line number or uuid, with up to `count` messages on either side. Raises NotFound.

    A message is a line of the type user or assistant. A line of another type stands for the message before it.
    Messages for which `is_shown` is false are left out and not counted, except the one at the position.
    """
    owner, entry, agent = _locate(session, str(position))
    for path, branch in _paths(owner):
        messages = [step for step in path if step.type in _MESSAGES]
        if entry.type in _MESSAGES and entry not in messages:
            continue
        if messages:
            return _window(owner, messages, entry, (count, is_shown), branch, agent)
    off_path = [e for e in owner.entries if e.type in _MESSAGES and e.is_sidechain == entry.is_sidechain]
    if not off_path:
        raise NotFound(str(position), "message")
    return _window(owner, off_path, entry, (count, is_shown), None, agent)


def _window(
    session: Session,
    messages: Sequence[Entry],
    entry: Entry,
    limits: tuple[int, IsShown | None],
    branch: int | None,
    agent: str,
) -> Surroundings:
    count, is_shown = limits
    earlier = [index for index, message in enumerate(messages) if message.offset <= entry.offset]
    at = messages.index(entry) if entry in messages else max(earlier, default=0)

    def shown(side: Iterable[Entry]) -> list[Entry]:
        return list(islice((message for message in side if is_shown is None or is_shown(session, message)), count))

    before, after = shown(reversed(messages[:at])), shown(messages[at + 1 :])
    return Surroundings(session, messages[at], (*reversed(before), messages[at], *after), branch, agent)


def _locate(session: Session, position: str) -> tuple[Session, Entry, str]:
    """Return the entry at a position, the session that contains it and the id of its agent."""
    if position.isascii() and position.isdigit() and len(position) < _SHORTEST_UUID:
        return session, _entry_at_line(session, int(position)), ""
    matches: dict[str, tuple[Session, Entry, str]] = {}
    if len(position) >= _SHORTEST_UUID:
        for owner, agent in ((session, ""), *((agent.session, agent.id) for agent in session.agents)):
            for entry in owner.entries:
                if entry.uuid and entry.uuid.startswith(position.lower()):
                    matches.setdefault(entry.uuid, (owner, entry, agent))
    if len(matches) > 1:
        raise Ambiguous(position, sorted(matches), kind="lines")
    if not matches:
        raise NotFound(
            position,
            "line or uuid",
            hint=(
                f"Name a line from 1 to {_last_line_number(session)}, or at least {_SHORTEST_UUID} characters of a uuid."
            ),
        )
    return next(iter(matches.values()))


def _entry_at_line(session: Session, number: int) -> Entry:
    """Return the entry on a line; for a line without one the entry before it, else the first."""
    if not 1 <= number <= _last_line_number(session):
        raise NotFound(str(number), "line", hint=f"The file has {plural(_last_line_number(session), 'line')}.")
    if not session.entries:
        raise NotFound(str(number), "message")
    return max((e for e in session.entries if e.line.number <= number), key=_line_number, default=session.entries[0])


def _line_number(entry: Entry) -> int:
    return entry.line.number


def _last_line_number(session: Session) -> int:
    last = session.items[-1].line if session.items else None
    return last.number + last.count - 1 if last else 0


def _paths(session: Session) -> Iterator[tuple[tuple[Entry, ...], int | None]]:
    """Yield the active path, then the abandoned branches."""
    yield session.active, None
    for branch in session.branches:
        if not branch.is_active:
            turns = session.turns_of(branch)
            yield tuple(entry for turn in turns for entry in turn.entries), branch.number
