"""The difference: what a plan takes out, puts in and changes, a line of text for each entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clew.conversation.session import Session
from clew.conversation.speaker import speaker
from clew.system.plural import plural
from clew.wire.entry import Entry, Item
from clew.wire.json_codec import encode

_WIDTH = 96
_LINKS = ("parentUuid", "logicalParentUuid", "leafUuid", "sourceToolAssistantUUID")


@dataclass(frozen=True, slots=True)
class EntryChange:
    """An entry that goes (`-`), comes (`+`) or becomes another (`~`)."""

    sign: str
    line: int
    text: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.sign} {self.line:>5}  {self.text}{f'  ({self.note})' if self.note else ''}"


def changes(before: Session, after: Session) -> Iterator[EntryChange]:
    """In the order of the lines: those that go and change by their place before, those that come behind them."""
    old, new = _keyed(before), _keyed(after)
    for key, item in old.items():
        if key not in new:
            yield EntryChange("-", item.line.number, _told(item))
        elif (now := new[key]).raw.rstrip() != item.raw.rstrip():
            yield EntryChange("~", item.line.number, _told(item), _how(item, now))
    for key, item in new.items():
        if key not in old:
            yield EntryChange("+", item.line.number, _told(item))


def _keyed(session: Session) -> Mapping[object, Item]:
    """Each item under a name that it keeps when it is changed."""
    found: dict[object, Item] = {}
    for item in session.items:
        name = item.uuid if isinstance(item, Entry) and item.uuid else item.raw.rstrip()
        copies = 0
        while (name, copies) in found:
            copies += 1
        found[name, copies] = item
    return found


def _told(item: Item) -> str:
    if not isinstance(item, Entry):
        return f"{plural(len(item.raw), 'byte')} outside an entry" if item.raw.strip() else "an empty line"
    what = speaker(item) or item.subtype or ""
    kinds = [b.name or b.type for b in item.blocks if b.type != "text"]
    head = " ".join([item.type, *([what] if what else []), *kinds])
    return f"{head}: {' '.join(item.text.split())}"[:_WIDTH] if item.text else head[:_WIDTH]


def _how(before: Item, after: Item) -> str:
    if not isinstance(before, Entry) or not isinstance(after, Entry):
        return ""
    old, new = before.data, after.data
    names = [name for name in {**old, **new} if encode(old.get(name)) != encode(new.get(name))]  # == fails on deep ones
    if names and set(names) <= set(_LINKS):
        return "linked anew"
    return f"{', '.join(names)}: {len(before.raw)} → {len(after.raw)} bytes"
