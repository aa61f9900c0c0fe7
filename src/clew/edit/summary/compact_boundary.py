"""Create the lines that a compaction adds, and find what a resume would send.

Every version drops what is above the last boundary of a path; only newer ones can preserve messages from before it.
So everything that must be sent is linked below the boundary by its parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from clew.conversation.session import Session
from clew.conversation.speaker import starts_turn
from clew.conversation.turns import Turn, split_turns
from clew.edit.restate_usage import restate_usage
from clew.facts.context_size import WeighedPath
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import new_entry, renumber, revise
from clew.wire.json_codec import encode
from clew.wire.rename_ids import new_uuid
from clew.wire.timestamps import format_timestamp

MARK = "clewCompressed"  # a field that readers ignore: the level to which clew shortened this entry
_SHARED = ("isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId")
_TICK = timedelta(milliseconds=1)


class ResumeContent(Struct, frozen=True):
    """What a resume would send: the entries before the first prompt, and the turns with their numbers in the
    session.
    """

    chain: tuple[Entry, ...]  # from the last boundary on, by parents alone
    before: tuple[Entry, ...]
    turns: tuple[Turn, ...]

    @property
    def top(self) -> Entry | None:
        """The boundary above the content, if there is one."""
        return self.chain[0] if self.chain and self.chain[0].is_boundary else None

    @property
    def hanging(self) -> tuple[Turn, ...]:
        """The turns after the boundary; a turn that a compaction preserved is before it."""
        below = {entry.uuid for entry in self.chain}
        return tuple(turn for turn in self.turns if turn.prompt.uuid in below)


def resume_content(session: Session) -> ResumeContent:
    """Return what the newest version would send of a session."""
    if session.leaf is None:
        return ResumeContent((), (), ())
    path = session.resume_links.path_to(session.leaf)
    at = max((i for i, entry in enumerate(path) if entry.is_boundary), default=0)
    before, path_turns = split_turns(session.resume_path, lambda entry: _starts_sent_turn(entry, session.is_agent))
    numbers = {turn.prompt.uuid: turn.number for turn in session.turns}
    return ResumeContent(
        tuple(path[at:]), before, tuple(Turn(numbers.get(t.prompt.uuid, t.number), t.entries) for t in path_turns)
    )


def _starts_sent_turn(entry: Entry, is_agent: bool) -> bool:
    """Return whether a turn starts. A prompt queued during a turn is part of it: nothing is cut between calls and
    results.
    """
    return entry.type == "user" and starts_turn(entry, is_agent)


def make_boundary(session: Session, like: Entry, time: datetime, last: str | None, kind: str) -> Entry:
    """Return the line that marks a compaction, with common fields `like` another entry; `last` is the last compacted
    entry.
    """
    return new_entry(
        {
            "parentUuid": None,
            "logicalParentUuid": last,
            **_shared_fields(like),
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "timestamp": format_timestamp(time),
            "uuid": _new_uuid(session, "boundary"),
            "level": "info",
            "compactMetadata": {"trigger": "manual"},
            MARK: kind,
        }
    )


def make_summary(session: Session, like: Entry, time: datetime, parent: str | None, text: str) -> Entry:
    """Return the entry that replaces the compacted turns: the model reads it as a user message."""
    return new_entry(
        {
            "parentUuid": parent,
            **_shared_fields(like),
            "type": "user",
            "message": {"role": "user", "content": text},
            "isVisibleInTranscriptOnly": True,
            "isCompactSummary": True,
            "uuid": _new_uuid(session, "summary"),
            "timestamp": format_timestamp(time),
        }
    )


def restate_sizes(session: Session, items: Iterable[Item], mark: str | None) -> tuple[Item, ...]:
    """Return the items with the context sizes before and after in the boundary, and the usage restated."""
    compacted = tuple(items)
    was = WeighedPath(session)
    old = was.context()
    new = WeighedPath(Session(compacted, file=session.file), was).context(old.scale)
    sizes = {"preTokens": encode(old.tokens), "postTokens": encode(new.tokens)}
    changed = (
        _with_sizes(item, sizes) if isinstance(item, Entry) and item.uuid == mark else item for item in compacted
    )
    return restate_usage(session, renumber(changed), was)


def earliest_time(times: Iterable[datetime | None], steps: int = 0) -> datetime:
    """Return the earliest of some times, plus `steps` milliseconds."""
    return min((time for time in times if time), default=datetime.fromtimestamp(0, UTC)) + steps * _TICK


def _with_sizes(entry: Entry, sizes: Mapping[str, bytes]) -> Entry:
    return revise(entry, {"compactMetadata": sizes})


def _shared_fields(like: Entry) -> dict[str, Any]:
    return {key: value for key, value in like.data.items() if key in _SHARED}


def _new_uuid(session: Session, name: str) -> str:
    """Return a uuid for a new entry, always the same for the same session."""
    return new_uuid(session.id, f"{name}/{len(session.items)}")
