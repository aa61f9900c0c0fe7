"""Relinking: take entries out of a session so that nothing left names what is gone.

What stood below a removed entry hangs below the nearest one that is left. The conversation goes on from where it did, or
from the nearest entry that is left; where the file alone would lead elsewhere, a pin is added.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from clew.conversation.session import Session
from clew.conversation.speaker import has_caveat, is_caveat, prompt_text
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import new_entry, renumber, revise, with_parent
from clew.wire.entry_types import Compaction, FileHistorySnapshot
from clew.wire.json_codec import encode

NOTHING_REVISED: Mapping[int, Entry] = {}


def without(
    session: Session,
    gone: Collection[int],
    revised: Mapping[int, Entry] = NOTHING_REVISED,
    end: Entry | None = None,
) -> tuple[Item, ...]:
    """The items of a session without the entries at these offsets, and with others in the places of some.

    It goes on from `end`, or from where it did.
    """
    if not gone:
        return tuple(revised.get(item.line.offset, item) for item in session.items)
    rest = _Rest(session, gone)
    found: list[Item] = []
    for item in session.items:
        offset = item.line.offset
        if offset in gone:
            continue
        if isinstance(item, Entry):
            mended = rest.mended(revised.get(offset, item))
            if mended is not None:
                found.append(mended)
        else:
            found.append(item)
    end = end or session.leaf
    return pinned(tuple(found), session, rest.nearest(end.uuid) if end else None)


def pinned(items: tuple[Item, ...], like: Session, wanted: str | None) -> tuple[Item, ...]:
    """The items, with a line at the end that names the leaf if they would go on from another one."""
    made = Session(items, file=like.file)
    if wanted is None or made.leaf is None or made.leaf.uuid == wanted:
        return items
    return renumber((*items, pin(like, wanted)))


def pin(like: Session, leaf: str) -> Entry:
    """The line by which the program itself notes where a conversation goes on."""
    prompts = {e.offset for e in like.prompts}
    prompt = next((e for e in reversed(like.path_to(like.graph.nodes[leaf])) if e.offset in prompts), None)
    said = prompt_text(prompt) if prompt else ""
    return new_entry(
        {"type": "last-prompt", "lastPrompt": said, "leafUuid": leaf, "explicit": True, "sessionId": like.id}
    )


def above(session: Session, entry: Entry, *, history: bool = False) -> str | None:
    """The entry over another: its parent, or what a reader takes for it when that is not in the file.

    With `history` a compaction does not end the line.
    """
    if entry.parent in session.graph.nodes:
        return entry.parent
    if entry.parent is None and not history:
        return None
    if entry.uuid not in session.links.nodes:
        return None
    found = session.links.parent(entry, history=history)
    return found.uuid if found else None


def caveats(session: Session, prompt: Entry) -> list[Entry]:
    """The caveats directly above a command, the highest first."""
    found: list[Entry] = []
    here = prompt
    while has_caveat(prompt):
        over = session.graph.nodes.get(above(session, here) or "")
        if over is None or over in found or not is_caveat(over):
            break
        found.insert(0, over)
        here = over
    return found


class _Rest:
    """What is left of a session: which names are gone, and what takes their place."""

    def __init__(self, session: Session, gone: Collection[int]) -> None:
        self._session = session
        left = {e.uuid for e in session.entries if e.offset not in gone}
        self._gone = {e.uuid for e in session.entries if e.offset in gone and e.uuid} - left
        self._known: dict[str, str | None] = {}

    def nearest(self, uuid: str | None) -> str | None:
        """An entry that is left: this one, or the nearest over it."""
        walked: list[str] = []
        seen: set[str] = set()
        while uuid is not None and uuid in self._gone and uuid not in self._known:
            if uuid in seen:
                uuid = None
                break
            seen.add(uuid)
            walked.append(uuid)
            uuid = above(self._session, self._session.graph.nodes[uuid])
        found = self._known.get(uuid, uuid) if uuid is not None else None
        self._known.update(dict.fromkeys(walked, found))
        return found

    def mended(self, entry: Entry) -> Entry | None:
        """An entry with its references moved to what is left; None if it was only about what is gone."""
        if entry.message_id in self._gone or self._is_stale_snapshot(entry):
            return None
        changes: dict[str, Any] = {}
        for name, old in (("parentUuid", self._parent(entry)), ("logicalParentUuid", entry.logical_parent)):
            if old in self._gone:
                changes[name] = encode(self.nearest(old))
        if entry.leaf in self._gone:
            leaf = self.nearest(entry.leaf)
            if leaf is None:
                return None
            changes["leafUuid"] = encode(leaf)
        if entry.source_tool_assistant in self._gone:
            changes["sourceToolAssistantUUID"] = None
        if entry.is_boundary:
            changes |= self._kept_by(entry)
        if list(changes) == ["parentUuid"]:
            return with_parent(entry, self.nearest(self._parent(entry)))
        return revise(entry, changes) if changes else entry

    def _parent(self, entry: Entry) -> str | None:
        """The parent that is named, or what a reader takes for one that was missing before the edit."""
        return (
            entry.parent
            if entry.parent is None or entry.parent in self._session.graph.nodes
            else above(self._session, entry)
        )

    def _is_stale_snapshot(self, entry: Entry) -> bool:
        return entry.type == "file-history-snapshot" and FileHistorySnapshot.of(entry).inner_message_id in self._gone

    def _kept_by(self, boundary: Entry) -> dict[str, Any]:
        """What a compaction kept, of that which is left."""
        made = Compaction.of(boundary)
        changes: dict[str, Any] = {}
        if made.segment and made.segment.head and made.segment.tail:
            walked = self._segment(made.segment.head, made.segment.tail)
            if any(uuid in self._gone for uuid in (*walked, made.segment.anchor)):
                changes["preservedSegment"] = self._shorter(walked, made.segment.anchor, boundary)
        if made.messages and any(uuid in self._gone for uuid in (*made.messages.uuids, made.messages.anchor)):
            left = [uuid for uuid in made.messages.uuids if uuid not in self._gone]
            anchor = encode(self.nearest(made.messages.anchor) or boundary.uuid)
            inner = {"uuids": encode(left), "anchorUuid": anchor, "allUuids": None}
            changes["preservedMessages"] = inner if left else None
        return {"compactMetadata": changes} if changes else {}

    def _shorter(self, walked: list[str], anchor: str | None, boundary: Entry) -> dict[str, Any] | None:
        left = [uuid for uuid in walked if uuid not in self._gone]
        if not left:
            return None
        near = self.nearest(anchor) or boundary.uuid
        return {"headUuid": encode(left[0]), "tailUuid": encode(left[-1]), "anchorUuid": encode(near)}

    def _segment(self, head: str, tail: str) -> list[str]:
        graph = self._session.graph
        if tail not in graph.nodes:
            return []
        line = list(graph.ancestry(tail))
        return line[: line.index(head) + 1][::-1] if head in line else []
