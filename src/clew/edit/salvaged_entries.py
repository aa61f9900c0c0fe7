"""Put entries that were salvaged from damaged lines on separate lines."""

from __future__ import annotations

from clew.conversation.session import Session
from clew.wire.entry import Damaged, Entry, Item
from clew.wire.entry_edit import parse_at
from clew.wire.json_codec import encode


def split_damaged(session: Session) -> Session:
    """Return the session with each salvaged entry on a separate line; the same session if there is none."""
    if not any(isinstance(item, Damaged) and item.salvaged for item in session.items):
        return session
    return Session(tuple(line for item in session.items for line in _split(item)), file=session.file)


def _split(item: Item) -> list[Item]:
    return [_line_of(entry) for entry in item.salvaged] if isinstance(item, Damaged) and item.salvaged else [item]


def _line_of(entry: Entry) -> Entry:
    try:
        return parse_at(entry.line.json, entry.line)
    except ValueError:  # not strict JSON
        return parse_at(encode(entry.data), entry.line)
