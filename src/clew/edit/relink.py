"""Remove entries from a session so that no remaining reference names a removed entry.

Entries below a removed one are linked below the nearest remaining ancestor. The conversation continues from the same
leaf, or its nearest remaining ancestor; a pin is added where the file alone would lead elsewhere.
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


def remove_entries(
    session: Session,
    removed: Collection[int],
    revised: Mapping[int, Entry] = NOTHING_REVISED,
    end: Entry | None = None,
) -> tuple[Item, ...]:
    """Return the items without the entries at these offsets, with `revised` entries replaced.

    The conversation continues from `end`, by default from its old leaf.
    """
    if not removed:
        return tuple(revised.get(item.line.offset, item) for item in session.items)
    remaining = _Remaining(session, removed)
    items: list[Item] = []
    for item in session.items:
        offset = item.line.offset
        if offset in removed:
            continue
        if isinstance(item, Entry):
            relinked = remaining.relink(revised.get(offset, item))
            if relinked is not None:
                items.append(relinked)
        else:
            items.append(item)
    end = end or session.leaf
    return pin_leaf(tuple(items), session, remaining.nearest(end.uuid) if end else None)


def pin_leaf(items: tuple[Item, ...], like: Session, uuid: str | None) -> tuple[Item, ...]:
    """Return the items, with a pin at the end if they would otherwise continue from another leaf than `uuid`."""
    session = like.with_items(items)
    if uuid is None or session.leaf is None or session.leaf.uuid == uuid:
        return items
    return renumber((*items, make_pin(like, uuid)))


def make_pin(like: Session, leaf: str) -> Entry:
    """Return the line in which Claude Code records where a conversation continues."""
    prompts = {e.offset for e in like.prompts}
    prompt = next((e for e in reversed(like.path_to(like.graph.nodes[leaf])) if e.offset in prompts), None)
    prompt_of_leaf = prompt_text(prompt) if prompt else ""
    return new_entry(
        {"type": "last-prompt", "lastPrompt": prompt_of_leaf, "leafUuid": leaf, "explicit": True, "sessionId": like.id}
    )


def parent_of(session: Session, entry: Entry, *, history: bool = False) -> str | None:
    """Return the uuid of the parent, or of the entry that a reader uses instead if it is missing.

    With `history` a compaction does not end the path.
    """
    if entry.parent in session.graph.nodes:
        return entry.parent
    if entry.parent is None and not history:
        return None
    if entry.uuid not in session.links.nodes:
        return None
    parent = session.links.parent(entry, history=history)
    return parent.uuid if parent else None


def caveats_before(session: Session, prompt: Entry) -> list[Entry]:
    """Return the caveats directly above a command, topmost first."""
    found: dict[str | None, Entry] = {}
    step = prompt
    is_command = has_caveat(prompt)
    while is_command:
        parent = session.graph.nodes.get(parent_of(session, step) or "")
        if parent is None or parent.uuid in found or not is_caveat(parent):
            break
        found[parent.uuid] = step = parent
    return [*found.values()][::-1]


class _Remaining:
    """The entries that remain, and their replacements for removed ones."""

    def __init__(self, session: Session, removed: Collection[int]) -> None:
        self._session = session
        left = {e.uuid for e in session.entries if e.offset not in removed}
        self._removed = {e.uuid for e in session.entries if e.offset in removed and e.uuid} - left
        self._known: dict[str, str | None] = {}

    def nearest(self, uuid: str | None) -> str | None:
        """Return the entry itself if it remains, else its nearest remaining ancestor."""
        # Example: a ← b ← c without b and c: the nearest of c is a, and that of b is known afterwards without a walk.
        walked: list[str] = []
        visited: set[str] = set()
        while uuid is not None and uuid in self._removed and uuid not in self._known:
            if uuid in visited:
                uuid = None
                break
            visited.add(uuid)
            walked.append(uuid)
            uuid = parent_of(self._session, self._session.graph.nodes[uuid])
        ancestor = self._known.get(uuid, uuid) if uuid is not None else None
        self._known.update(dict.fromkeys(walked, ancestor))
        return ancestor

    def relink(self, entry: Entry) -> Entry | None:
        """Return an entry with its references moved to remaining entries; None if it only described removed ones."""
        if entry.message_id in self._removed or self._is_stale_snapshot(entry):
            return None
        parent = self._parent(entry)
        named = (parent, entry.logical_parent, entry.leaf, entry.source_tool_assistant)
        if self._removed.isdisjoint(named) and not entry.is_boundary:
            return entry
        changes: dict[str, Any] = {}
        for name, old in (("parentUuid", parent), ("logicalParentUuid", entry.logical_parent)):
            if old in self._removed:
                changes[name] = encode(self.nearest(old))
        if entry.leaf in self._removed:
            leaf = self.nearest(entry.leaf)
            if leaf is None:
                return None
            changes["leafUuid"] = encode(leaf)
        if entry.source_tool_assistant in self._removed:
            changes["sourceToolAssistantUUID"] = None
        if entry.is_boundary:
            changes |= self._preserved_fields(entry)
        if list(changes) == ["parentUuid"]:
            return with_parent(entry, self.nearest(parent))
        return revise(entry, changes) if changes else entry

    def _parent(self, entry: Entry) -> str | None:
        """Return the named parent, or the entry that a reader used for one that was already missing."""
        return (
            entry.parent
            if entry.parent is None or entry.parent in self._session.graph.nodes
            else parent_of(self._session, entry)
        )

    def _is_stale_snapshot(self, entry: Entry) -> bool:
        return entry.type == "file-history-snapshot" and FileHistorySnapshot.of(entry).inner_message_id in self._removed

    def _preserved_fields(self, boundary: Entry) -> dict[str, Any]:
        """Return the changed fields of a boundary whose preserved messages were partly removed."""
        compaction = Compaction.of(boundary)
        changes: dict[str, Any] = {}
        if compaction.segment and compaction.segment.head and compaction.segment.tail:
            walked = self._session.graph.segment(compaction.segment.head, compaction.segment.tail)
            if any(uuid in self._removed for uuid in (*walked, compaction.segment.anchor)):
                changes["preservedSegment"] = self._shorten_segment(walked, compaction.segment.anchor, boundary)
        if compaction.messages and any(
            uuid in self._removed for uuid in (*compaction.messages.uuids, compaction.messages.anchor)
        ):
            left = [uuid for uuid in compaction.messages.uuids if uuid not in self._removed]
            anchor = encode(self.nearest(compaction.messages.anchor) or boundary.uuid)
            inner = {"uuids": encode(left), "anchorUuid": anchor, "allUuids": None}
            changes["preservedMessages"] = inner if left else None
        return {"compactMetadata": changes} if changes else {}

    def _shorten_segment(self, walked: list[str], anchor: str | None, boundary: Entry) -> dict[str, Any] | None:
        left = [uuid for uuid in walked if uuid not in self._removed]
        if not left:
            return None
        near = self.nearest(anchor) or boundary.uuid
        return {"headUuid": encode(left[0]), "tailUuid": encode(left[-1]), "anchorUuid": encode(near)}
