"""Describe what a plan removes, adds and changes, one line for each entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from clew.conversation.session import Session
from clew.conversation.speaker import speaker
from clew.system.plural import plural
from clew.wire.entry import Entry, Item
from clew.wire.json_codec import encode

_WIDTH = 96
_LINKS = ("parentUuid", "logicalParentUuid", "leafUuid", "sourceToolAssistantUUID")


class EntryChange(Struct, frozen=True):
    """An entry that is removed (`-`), added (`+`) or changed (`~`)."""

    sign: str
    line: int
    text: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.sign} {self.line:>5}  {self.text}{f'  ({self.note})' if self.note else ''}"


def entry_changes(before: Session, after: Session) -> Iterator[EntryChange]:
    """Yield removed and changed entries in their old order, then added ones in their new order."""
    old, new = _items_by_key(before), _items_by_key(after)
    for key, item in old.items():
        if key not in new:
            yield EntryChange("-", item.line.number, _describe_item(item))
        elif (now := new[key]).raw.rstrip() != item.raw.rstrip():
            yield EntryChange("~", item.line.number, _describe_item(item), _describe_change(item, now))
    for key, item in new.items():
        if key not in old:
            yield EntryChange("+", item.line.number, _describe_item(item))


def _items_by_key(session: Session) -> Mapping[object, Item]:
    """Map each item under a key that stays the same when the item changes."""
    keyed: dict[object, Item] = {}
    for item in session.items:
        name = item.uuid if isinstance(item, Entry) and item.uuid else item.raw.rstrip()
        copies = 0
        while (name, copies) in keyed:
            copies += 1
        keyed[name, copies] = item
    return keyed


def _describe_item(item: Item) -> str:
    if not isinstance(item, Entry):
        return f"{plural(len(item.raw), 'byte')} outside an entry" if item.raw.strip() else "an empty line"
    what = speaker(item) or item.subtype or ""
    kinds = [b.name or b.type for b in item.blocks if b.type != "text"]
    head = " ".join([item.type, *([what] if what else []), *kinds])
    return f"{head}: {' '.join(item.text.split())}"[:_WIDTH] if item.text else head[:_WIDTH]


def _describe_change(before: Item, after: Item) -> str:
    if not isinstance(before, Entry) or not isinstance(after, Entry):
        return ""
    old, new = before.data, after.data
    names = [name for name in {**old, **new} if encode(old.get(name)) != encode(new.get(name))]  # == fails on deep ones
    if names and set(names) <= set(_LINKS):
        return "relinked"
    return f"{', '.join(names)}: {len(before.raw)} → {len(after.raw)} bytes"
