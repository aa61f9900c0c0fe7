"""Cuts: what is to be taken out of a session or made shorter, gathered first and then done in one pass.

An entry that is left without a block goes, and so does a reply that is left without words and calls. Thinking that would end
a reply goes too, because the API refuses it. Several cuts of the same session are done at once, which is the same as doing
one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.conversation.replies import reply_key
from clew.conversation.session import Session
from clew.conversation.speaker import starts_turn
from clew.edit.relink import without
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import block_bytes, revise
from clew.wire.json_splice import join_array

THOUGHT = ("thinking", "redacted_thinking")
SILENT = (*THOUGHT, "fallback")  # a reply of nothing else says nothing


@dataclass(frozen=True, slots=True)
class Removals:
    """By the offsets of entries: those that go, the blocks that go (None) or change, the fields that change."""

    gone: set[int] = field(default_factory=set)
    blocks: dict[int, dict[int, bytes | None]] = field(default_factory=dict)
    fields: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.gone or self.blocks or self.fields)


def joined(cuts: Iterable[Removals]) -> Removals:
    """Several cuts as one. What one takes out, no other makes shorter."""
    found = Removals()
    for cut in cuts:
        found.gone.update(cut.gone)
        for offset, blocks in cut.blocks.items():
            mine = found.blocks.get(offset)
            if mine is None:
                found.blocks[offset] = dict(blocks)
            else:
                mine.update({i: block for i, block in blocks.items() if mine.get(i, b"") is not None})
        for offset, fields in cut.fields.items():
            found.fields.setdefault(offset, {}).update(fields)
    return found


def done(session: Session, cut: Removals) -> tuple[Item, ...]:
    """The items of a session after a cut."""
    if not cut:
        return session.items
    lost = {offset: {i for i, b in blocks.items() if b is None} for offset, blocks in cut.blocks.items()}
    _drop_thoughts(session, lost)
    gone = cut.gone | _emptied(session, lost)
    revised: dict[int, Entry] = {}
    for entry in session.entries:
        offset = entry.offset
        if offset not in gone and (offset in lost or offset in cut.fields):
            blocks = {**cut.blocks.get(offset, {}), **dict.fromkeys(lost.get(offset, ()))}
            revised[offset] = _revised(entry, blocks, cut.fields.get(offset, {}), session.is_agent)
    return without(session, gone, revised)


def blocks_of(entry: Entry) -> list[bytes]:
    """The exact bytes of the blocks that the entry is read to have: what is no object is none."""
    return [part for part in block_bytes(entry) if part.startswith(b"{")]


def _drop_thoughts(session: Session, lost: dict[int, set[int]]) -> None:
    """Add to the lost blocks the thinking that would end a reply, and all of a reply that would say nothing."""
    replies: dict[str | None, list[tuple[Entry, int]]] = {
        reply_key(entry): [] for entry in session.entries if entry.type == "assistant" and lost.get(entry.offset)
    }
    for entry in session.entries if replies else ():
        if entry.type == "assistant" and (key := reply_key(entry)) in replies:
            out = lost.get(entry.offset, ())
            replies[key].extend((entry, i) for i in range(len(entry.blocks)) if i not in out)
    for left in replies.values():
        kinds = SILENT if all(entry.blocks[i].type in SILENT for entry, i in left) else THOUGHT
        for entry, i in reversed(left):
            if entry.blocks[i].type not in kinds:
                break
            lost.setdefault(entry.offset, set()).add(i)


def _emptied(session: Session, lost: Mapping[int, set[int]]) -> set[int]:
    """The entries that lose all their blocks."""
    return {e.offset for e in session.entries if (out := lost.get(e.offset)) and len(out) == len(e.blocks)}


def _revised(entry: Entry, blocks: Mapping[int, bytes | None], fields: Mapping[str, Any], is_agent: bool) -> Entry:
    changes: dict[str, Any] = dict(fields)
    if blocks:
        parts = blocks_of(entry) if len(blocks) < len(entry.blocks) else [b""] * len(blocks)
        kept = [now for i, part in enumerate(parts) if (now := blocks.get(i, part)) is not None]
        changes["message"] = {"content": join_array(kept)}
    made = revise(entry, changes)
    if not starts_turn(entry, is_agent) and starts_turn(made, is_agent):
        return revise(made, {"isMeta": b"true"})  # what stood beside a result does not become a prompt
    return made
