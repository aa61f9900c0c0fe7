"""Collect what an edit removes or shortens, and apply it in one pass.

An entry without a block is removed, and so is a reply without text and calls. Thinking that would end a reply is
removed too, because the API refuses it. Applying several removals together equals applying them one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from clew.conversation.reply_ids import reply_key
from clew.conversation.session import Session
from clew.conversation.speaker import starts_turn
from clew.edit.relink import remove_entries
from clew.wire.content_block import THINKING_TYPES
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import block_bytes, revise
from clew.wire.json_splice import join_array

SILENT = (*THINKING_TYPES, "fallback")  # a reply of nothing else is empty


class Removals(Struct, frozen=True):
    """By entry offset: removed entries, removed (None) or changed blocks, and changed fields."""

    gone: set[int] = field(default_factory=set)
    blocks: dict[int, dict[int, bytes | None]] = field(default_factory=dict)
    fields: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.gone or self.blocks or self.fields)


def join_removals(cuts: Iterable[Removals]) -> Removals:
    """Join several removals. A block that one of them removes is not changed by another."""
    result = Removals()
    for cut in cuts:
        result.gone.update(cut.gone)
        for offset, blocks in cut.blocks.items():
            known = result.blocks.get(offset)
            if known is None:
                result.blocks[offset] = dict(blocks)
            else:
                known.update({i: block for i, block in blocks.items() if known.get(i, b"") is not None})
        for offset, fields in cut.fields.items():
            result.fields.setdefault(offset, {}).update(fields)
    return result


def apply_removals(session: Session, cut: Removals) -> tuple[Item, ...]:
    """Return the items of a session with the removals applied."""
    if not cut:
        return session.items
    removed_blocks = {offset: {i for i, b in blocks.items() if b is None} for offset, blocks in cut.blocks.items()}
    _drop_thoughts(session, removed_blocks)
    # An entry that loses all its blocks is removed; one that loses some is written again with the others.
    removed = cut.gone | _emptied_entries(session, removed_blocks)
    revised: dict[int, Entry] = {}
    for entry in session.entries:
        offset = entry.offset
        if offset not in removed and (offset in removed_blocks or offset in cut.fields):
            blocks = {**cut.blocks.get(offset, {}), **dict.fromkeys(removed_blocks.get(offset, ()))}
            revised[offset] = _revise_entry(entry, blocks, cut.fields.get(offset, {}), session.is_agent)
    return remove_entries(session, removed, revised)


def raw_blocks(entry: Entry) -> list[bytes]:
    """Return the exact bytes of the blocks of an entry; array items that are not objects are skipped."""
    return [part for part in block_bytes(entry) if part.startswith(b"{")]


def _drop_thoughts(session: Session, removed_blocks: dict[int, set[int]]) -> None:
    """Add thinking that would end a reply to the removed blocks, and everything of a reply that says nothing else."""
    replies: dict[str | None, list[tuple[Entry, int]]] = {
        reply_key(entry): []
        for entry in session.entries
        if entry.type == "assistant" and removed_blocks.get(entry.offset)
    }
    for entry in session.entries if replies else ():
        if entry.type == "assistant" and (key := reply_key(entry)) in replies:
            removed = removed_blocks.get(entry.offset, ())
            replies[key].extend((entry, i) for i in range(len(entry.blocks)) if i not in removed)
    for left in replies.values():
        kinds = SILENT if all(entry.blocks[i].type in SILENT for entry, i in left) else THINKING_TYPES
        for entry, i in reversed(left):
            if entry.blocks[i].type not in kinds:
                break
            removed_blocks.setdefault(entry.offset, set()).add(i)


def _emptied_entries(session: Session, removed_blocks: Mapping[int, set[int]]) -> set[int]:
    """Return the offsets of the entries that lose all their blocks."""
    return {
        e.offset for e in session.entries if (removed := removed_blocks.get(e.offset)) and len(removed) == len(e.blocks)
    }


def _revise_entry(entry: Entry, blocks: Mapping[int, bytes | None], fields: Mapping[str, Any], is_agent: bool) -> Entry:
    changes: dict[str, Any] = dict(fields)
    if blocks:
        parts = raw_blocks(entry) if len(blocks) < len(entry.blocks) else [b""] * len(blocks)
        parts_left = [now for i, part in enumerate(parts) if (now := blocks.get(i, part)) is not None]
        changes["message"] = {"content": join_array(parts_left)}
    revised = revise(entry, changes)
    if not starts_turn(entry, is_agent) and starts_turn(revised, is_agent):
        return revise(revised, {"isMeta": b"true"})  # text next to a removed result must not become a prompt
    return revised
