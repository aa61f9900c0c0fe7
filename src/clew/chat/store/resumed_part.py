"""Read the end of a session file from which a resume can be built, and no more of the rest than it leaves behind.

A resume sends what follows the last compaction. The lines before it are scanned for ids and state only. If anything in
them can change what is sent, the whole file is read; for a session without a compaction the end is the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from clew.chat.store.earlier_lines import EarlierLines
from clew.conversation.active_path import NIL, insert_siblings
from clew.conversation.load import request
from clew.conversation.parent_links import SPOKEN, Chain
from clew.conversation.reply_ids import reply_id
from clew.conversation.resume_request import Request
from clew.conversation.session import Session
from clew.wire.boundary_search import find_last_boundary, line_start
from clew.wire.bulk_scan import scan
from clew.wire.entry import Entry, read
from clew.wire.entry_types import Compaction
from clew.wire.layout import session_at
from clew.wire.resume_fields import EarlierEntry

_PRESERVED_SIZE = 1 << 18  # bytes before a boundary that are searched first for what it preserved


class ResumedPart(Struct, frozen=True, dict=True):
    """The entries of a file from an offset on, the request that they give, and what the lines before them leave."""

    session: Session
    request: Request
    earlier: EarlierLines
    start: int

    @cached_property
    def history(self) -> tuple[Entry, ...]:
        """The path to the leaf, as far as these entries reach: a compaction does not cut it."""
        links, leaf = self.session.links, self.request.leaf
        path = links.path_to(leaf, history=True) if leaf else []
        for index in range(len(path) - 1, 0, -1) if self.start else ():
            if links.history_parent(path[index]) != path[index - 1].uuid:
                path = path[index:]
                break
        return tuple(insert_siblings(path, links))

    def newest_first(self) -> Iterator[Entry]:
        """Yield the entries of the path to the leaf, and after them the earlier ones that have a mode or a todo list."""
        yield from reversed(self.history)
        first = self.history[0]
        above = self.session.links.history_parent(first)
        if above is None and first.is_boundary:
            above = next(reversed(self.earlier.parents), None)
        yield from self.earlier.history(above)

    @property
    def is_complete(self) -> bool:
        """Whether the lines before cannot change what is sent."""
        links, leaf = self.session.resume_links, self.request.leaf
        if not self.start:
            return True
        if self.request.refusal or leaf is None or self.session.is_agent:
            return False
        return (
            _is_connected(links, leaf)
            and not self._is_named_before(links)
            and not self._has_earlier_pins(links)
            and (_preserves(links) or not self._shares_replies(links))
            and not self._has_earlier_refusals()
        )

    def _is_named_before(self, links: Chain) -> bool:
        """Return whether an earlier line repeats one of these entries or hangs below one."""
        parents = self.earlier.parents
        return not (links.nodes.keys().isdisjoint(parents) and links.nodes.keys().isdisjoint(parents.values()))

    def _has_earlier_pins(self, links: Chain) -> bool:
        """Return whether a `last-prompt` line names an earlier entry to resume from."""
        pins = {entry.leaf for entry in self.session.entries if entry.type == "last-prompt" and entry.leaf}
        return any(leaf not in links.nodes and leaf in self.earlier.parents for leaf in pins - {NIL})

    def _shares_replies(self, links: Chain) -> bool:
        """Return whether a block of one of these replies, or a result of one of their calls, is on an earlier line."""
        replies = [entry for entry in links.nodes.values() if entry.type == "assistant"]
        calls = {use.id for entry in replies for use in entry.uses}
        return not (self.earlier.replies.isdisjoint(map(reply_id, replies)) and calls.isdisjoint(self.earlier.answered))

    def _has_earlier_refusals(self) -> bool:
        """Return whether an earlier line can forbid the resume."""
        is_in_worktree = any(entry.type == "worktree-state" for entry in self.session.entries)
        types = self.earlier.types - ({"worktree-state"} if is_in_worktree else set())
        empty = self.earlier.empty_snapshots.intersection(entry.uuid or "" for entry in self.request.path)
        return not types.isdisjoint(("ended-by-model", "worktree-state")) or bool(empty)


def read_part(path: Path, start: int) -> ResumedPart:
    """Read a session file as entries from the line at an offset on."""
    session = Session(tuple(read(path, offset=start)), file=session_at(path))
    return ResumedPart(session, request(session), EarlierLines(path, start), start)


def read_resumed_part(path: Path) -> ResumedPart:
    """Read the end of a session file that a resume needs."""
    start = _find_start(path)
    if start:
        part = read_part(path, start)
        if part.is_complete and not part.earlier.has_started_tasks:
            return part
    return read_part(path, 0)


def _find_start(path: Path) -> int:
    """Return where the last compaction begins, or the first line that it preserved; 0 if there is none."""
    boundary = find_last_boundary(path)
    if boundary is None:
        return 0
    compaction = Compaction.of(boundary)
    preserved = set(compaction.messages.uuids) if compaction.messages else set()
    if compaction.segment and not preserved:
        preserved = {uuid for uuid in (compaction.segment.head, compaction.segment.tail) if uuid}
    return _first_of(path, preserved, boundary.offset) if preserved else boundary.offset


def _first_of(path: Path, uuids: set[str], stop: int) -> int:
    """Return the offset of the first of these entries before an offset; 0 if one is missing."""
    size = _PRESERVED_SIZE
    while True:
        start = line_start(path, max(0, stop - size))
        places: dict[str, int] = {}
        for batch in scan(path, offset=start, stop=stop, shape=EarlierEntry):
            pairs = zip(batch.spoken, batch.offsets, strict=True)
            places.update({entry.uuid: offset for entry, offset in pairs if entry.uuid in uuids})
        if len(places) == len(uuids):
            return min(places.values())
        if not start:
            return 0
        size *= 8


def _preserves(links: Chain) -> bool:
    """Return whether every line before the last compaction is removed, except those that it preserved."""
    boundary = [entry for entry in links.nodes.values() if entry.is_boundary][-1:]
    return any(Compaction.of(entry).messages or Compaction.of(entry).segment for entry in boundary)


def _is_connected(links: Chain, leaf: Entry) -> bool:
    """Return whether every parent is among these entries, and the path to the leaf is a conversation of its own."""
    outside = (u for u, p in links.above.items() if p is not None and p not in links.nodes)
    if any(not links.nodes[uuid].is_sidechain and not links.nodes[uuid].is_boundary for uuid in outside):
        return False
    path = list(links.ancestors(leaf))
    is_rooted = path[-1].is_boundary or links.above.get(path[-1].uuid) is None
    return is_rooted and any(entry.type in SPOKEN for entry in path)
