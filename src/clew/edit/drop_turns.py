"""Turns: leave some of them out, or end with one."""

from __future__ import annotations

from collections.abc import Iterable

from clew.conversation.locate import locate_entry
from clew.conversation.session import Session
from clew.edit.relink import above, caveats, without
from clew.edit.restate_usage import resized
from clew.errors import NotFound, Refused
from clew.wire.entry import Entry, Item

LASTING = frozenset({"custom-title", "ai-title", "agent-name", "agent-color", "tag", "pr-link", "summary"})


def drop_turns(session: Session, numbers: Iterable[int]) -> tuple[Item, ...]:
    """The session without these turns. A compaction inside one stays: what it summed up must not come back."""
    prompts = {session.turns[n - 1].prompt.uuid for n in _checked(session, numbers)}
    if len(prompts) == len(session.turns):
        raise Refused(["no turn would be left"])
    owners = _owners(session)
    gone = {e.offset for e in session.entries if e.uuid and owners[e.uuid] in prompts and not _is_compaction(e)}
    return resized(session, without(session, gone))


def keep_turns(session: Session, numbers: Iterable[int]) -> tuple[Item, ...]:
    """The session with these turns alone."""
    kept = _checked(session, numbers)
    return drop_turns(session, (turn.number for turn in session.turns if turn.number not in kept))


def end_with(session: Session, place: str) -> tuple[Item, ...]:
    """The session up to a place; other branches and all that came later are left out."""
    end = locate_entry(session, place)
    kept = {e.uuid for e in session.path_to(end)}
    last = max(e.offset for e in session.entries if e.uuid in kept)
    calls = {call.id for call in session.calls if call.entry.uuid in kept}
    agents = {
        e.uuid for a in session.agents if a.file is None and a.call and a.call.id in calls for e in a.session.entries
    }
    gone = {e.offset for e in session.entries if not _stays(e, kept | agents, calls, last)}
    return without(session, gone, end=end)


def _stays(entry: Entry, kept: set[str | None], calls: set[str], last: int) -> bool:
    if entry.uuid is None:
        return entry.offset <= last or entry.type in LASTING
    if entry.type == "progress":
        return entry.parent_tool_use in calls
    return entry.uuid in kept or (entry.type not in _SPOKEN_AND_SYSTEM and entry.offset <= last)


_SPOKEN_AND_SYSTEM = frozenset({"user", "assistant", "system", "attachment"})


def _checked(session: Session, numbers: Iterable[int]) -> list[int]:
    asked = sorted(set(numbers))
    for number in asked:
        if not 1 <= number <= len(session.turns):
            missing = NotFound(str(number), kind="turn")
            missing.hint = f"{session.id[:8]} has the turns 1 to {len(session.turns)}."
            raise missing
    return asked


def _is_compaction(entry: Entry) -> bool:
    return entry.is_boundary or entry.is_compact_summary


def _owners(session: Session) -> dict[str, str | None]:
    """For each entry the prompt that it came of, itself for a prompt. A caveat belongs to the command below it."""
    starts = {e.uuid for e in session.prompts}
    owners: dict[str, str | None] = {}
    for prompt in session.prompts:
        owners |= {e.uuid: prompt.uuid for e in caveats(session, prompt) if e.uuid}
    for uuid in session.graph.nodes:
        walked: list[str] = []
        here: str | None = uuid
        while here is not None and here not in owners and here not in starts and here not in walked[-1:]:
            owners[here] = None  # what leads back to itself came of no prompt
            walked.append(here)
            here = above(session, session.graph.nodes[here], history=True)
        found = here if here in starts else owners.get(here) if here is not None else None
        owners.update(dict.fromkeys(walked, found))
        if uuid in starts:
            owners[uuid] = uuid
    return owners
