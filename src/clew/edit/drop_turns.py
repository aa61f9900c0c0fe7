"""Remove turns from a session, or everything after a position."""

from __future__ import annotations

from collections.abc import Iterable

from clew.conversation.locate import locate_entry
from clew.conversation.session import Session
from clew.edit.relink import caveats_before, parent_of, remove_entries
from clew.edit.restate_usage import restate_usage
from clew.errors import NotFound, Refused
from clew.wire.entry import Entry, Item

LASTING = frozenset({"custom-title", "ai-title", "agent-name", "agent-color", "tag", "pr-link", "summary"})


def drop_turns(session: Session, numbers: Iterable[int]) -> tuple[Item, ...]:
    """Return the items without these turns. A compaction inside a turn is kept: what it summarised must not come
    back.
    """
    prompts = {session.turns[n - 1].prompt.uuid for n in _validate_numbers(session, numbers)}
    if len(prompts) == len(session.turns):
        raise Refused(["no turn would be left"])
    owners = _owners(session)
    removed = {e.offset for e in session.entries if e.uuid and owners[e.uuid] in prompts and not _is_compaction(e)}
    return restate_usage(session, remove_entries(session, removed))


def keep_turns(session: Session, numbers: Iterable[int]) -> tuple[Item, ...]:
    """Return the items with only these turns."""
    chosen = _validate_numbers(session, numbers)
    return drop_turns(session, (turn.number for turn in session.turns if turn.number not in chosen))


def end_with(session: Session, position: str) -> tuple[Item, ...]:
    """Return the items up to a position, without other branches and everything later."""
    end = locate_entry(session, position)
    on_path = {e.uuid for e in session.path_to(end)}
    last = max(e.offset for e in session.entries if e.uuid in on_path)
    calls = {call.id for call in session.calls if call.entry.uuid in on_path}
    agents = {
        e.uuid for a in session.agents if a.file is None and a.call and a.call.id in calls for e in a.session.entries
    }
    kept = on_path | agents
    removed = {e.offset for e in session.entries if not _is_kept(e, kept, calls, last)}
    return remove_entries(session, removed, end=end)


def _is_kept(entry: Entry, on_path: set[str | None], calls: set[str], last: int) -> bool:
    if entry.uuid is None:
        return entry.offset <= last or entry.type in LASTING
    if entry.type == "progress":
        return entry.parent_tool_use in calls
    return entry.uuid in on_path or (entry.type not in _SPOKEN_AND_SYSTEM and entry.offset <= last)


_SPOKEN_AND_SYSTEM = frozenset({"user", "assistant", "system", "attachment"})


def _validate_numbers(session: Session, numbers: Iterable[int]) -> list[int]:
    chosen = sorted(set(numbers))
    for number in chosen:
        if not 1 <= number <= len(session.turns):
            raise NotFound(str(number), kind="turn", hint=f"{session.id[:8]} has the turns 1 to {len(session.turns)}.")
    return chosen


def _is_compaction(entry: Entry) -> bool:
    return entry.is_boundary or entry.is_compact_summary


def _owners(session: Session) -> dict[str, str | None]:
    """Map each entry to the prompt that it follows from; a prompt to itself. A caveat belongs to the command below
    it.
    """
    starts = {e.uuid for e in session.prompts}
    owners: dict[str, str | None] = {}
    for prompt in session.prompts:
        owners |= {e.uuid: prompt.uuid for e in caveats_before(session, prompt) if e.uuid}
    for uuid in session.graph.nodes:
        walked: list[str] = []
        step: str | None = uuid
        while step is not None and step not in owners and step not in starts and step not in walked[-1:]:
            owners[step] = None  # an entry in a cycle has no prompt
            walked.append(step)
            step = parent_of(session, session.graph.nodes[step], history=True)
        owner = step if step in starts else owners.get(step) if step is not None else None
        owners.update(dict.fromkeys(walked, owner))
        if uuid in starts:
            owners[uuid] = uuid
    return owners
