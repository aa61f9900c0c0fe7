"""Boundaries: the lines that a compaction adds, and what of a session a resume would send.

Every version drops what stands above the last boundary of a path; only newer ones know how to keep messages from before
it. So whatever is to be sent hangs below the boundary, by its parents alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from clew.conversation.session import Session
from clew.conversation.speaker import starts_turn
from clew.conversation.turns import Turn, split_turns
from clew.edit.restate_usage import restate_usage
from clew.facts.context_size import context
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import new_entry, renumber, revise
from clew.wire.json_codec import encode
from clew.wire.rename_ids import new_uuid
from clew.wire.timestamps import stamp

MARK = "clewCompressed"  # a field that readers pass over: how closely clew kept what stands here
_SHARED = ("isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId")
_TICK = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class ResumeContent:
    """What a resume would send: the entries before the first prompt, and the turns with their numbers in the session."""

    chain: tuple[Entry, ...]  # from the last boundary on, by parents alone
    before: tuple[Entry, ...]
    turns: tuple[Turn, ...]

    @property
    def top(self) -> Entry | None:
        """The boundary that it hangs below, if there is one."""
        return self.chain[0] if self.chain and self.chain[0].is_boundary else None

    @property
    def hanging(self) -> tuple[Turn, ...]:
        """The turns behind the boundary; one that a compaction preserved stands before it."""
        below = {entry.uuid for entry in self.chain}
        return tuple(turn for turn in self.turns if turn.prompt.uuid in below)


def sent(session: Session) -> ResumeContent:
    """What the newest version would send of a session."""
    if session.leaf is None:
        return ResumeContent((), (), ())
    whole = session.resume_links.path_to(session.leaf)
    at = max((i for i, entry in enumerate(whole) if entry.is_boundary), default=0)
    before, found = split_turns(session.resume_path, lambda entry: _starts(entry, session.is_agent))
    numbers = {turn.prompt.uuid: turn.number for turn in session.turns}
    return ResumeContent(
        tuple(whole[at:]), before, tuple(Turn(numbers.get(t.prompt.uuid, t.number), t.entries) for t in found)
    )


def _starts(entry: Entry, is_agent: bool) -> bool:
    """A prompt that was queued during a turn is part of that turn: nothing may be cut between its calls and results."""
    return entry.type == "user" and starts_turn(entry, is_agent)


def boundary(session: Session, like: Entry, time: datetime, last: str | None, kind: str) -> Entry:
    """The line that marks a compaction, beside entries `like` another; `last` is the last of what was compacted."""
    return new_entry(
        {
            "parentUuid": None,
            "logicalParentUuid": last,
            **_shared(like),
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "timestamp": stamp(time),
            "uuid": _fresh(session, "boundary"),
            "level": "info",
            "compactMetadata": {"trigger": "manual"},
            MARK: kind,
        }
    )


def summary(session: Session, like: Entry, time: datetime, parent: str | None, text: str) -> Entry:
    """The entry that stands for what was compacted: the model reads it as said by the user."""
    return new_entry(
        {
            "parentUuid": parent,
            **_shared(like),
            "type": "user",
            "message": {"role": "user", "content": text},
            "isVisibleInTranscriptOnly": True,
            "isCompactSummary": True,
            "uuid": _fresh(session, "summary"),
            "timestamp": stamp(time),
        }
    )


def settled(session: Session, items: Iterable[Item], mark: str | None) -> tuple[Item, ...]:
    """What became of a session, with its boundary telling the size of the context on both sides."""
    found = tuple(items)
    old = context(session)
    new = context(Session(found, file=session.file), old.scale)
    sizes = {"preTokens": encode(old.tokens), "postTokens": encode(new.tokens)}
    changed = (_told(item, sizes) if isinstance(item, Entry) and item.uuid == mark else item for item in found)
    return restate_usage(session, renumber(changed))


def behind(times: Iterable[datetime | None], steps: int = 0) -> datetime:
    """The earliest of some times, and so many milliseconds more."""
    return min((time for time in times if time), default=datetime.fromtimestamp(0, UTC)) + steps * _TICK


def _told(entry: Entry, sizes: Mapping[str, bytes]) -> Entry:
    return revise(entry, {"compactMetadata": sizes})


def _shared(like: Entry) -> dict[str, Any]:
    return {key: value for key, value in like.data.items() if key in _SHARED}


def _fresh(session: Session, name: str) -> str:
    """A name for a new entry, the same each time for the same session."""
    return new_uuid(session.id, f"{name}/{len(session.items)}")
