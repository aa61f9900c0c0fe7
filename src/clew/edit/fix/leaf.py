"""Repair both ends of a conversation: its first message, its leaf, missing times and invalid pins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from clew.conversation.active_path import NIL
from clew.conversation.load import request
from clew.conversation.parent_links import SPOKEN
from clew.conversation.session import Session
from clew.edit.fix.links import LINKED, Repaired, replace_entries
from clew.edit.relink import pin_leaf
from clew.wire.entry import Entry
from clew.wire.entry_edit import revise
from clew.wire.json_codec import encode
from clew.wire.layout import SessionFile
from clew.wire.timestamps import format_timestamp

BY_TIME = "2.1.29"  # a version that continues from the newest time
_STEP = timedelta(milliseconds=1)


def add_missing_times(session: Session) -> Repaired | None:
    """Give each linked entry without a readable time one just after the entry before it."""
    chain = [e for e in session.entries if e.type in LINKED]
    first = next((e.time for e in chain if e.time), None)
    last = first - _STEP * len(chain) if first else _file_time(session)
    revised: dict[int, Entry] = {}
    for entry in chain:
        time = entry.time
        last = time or last + _STEP
        if time is None or not isinstance(entry.timestamp, str):
            revised[entry.offset] = revise(entry, {"timestamp": encode(format_timestamp(last))})
    return replace_entries(session, revised)


def start_with_prompt(session: Session) -> Repaired | None:
    """Start with the first remaining prompt where a resume would start with a reply, which the API refuses.

    The prompt of that reply is lost. The reply and its calls stay in the file, outside of the conversation.
    """
    messages = request(session).messages
    if not messages or messages[0]["role"] != "assistant" or not session.turns:
        return None
    first = session.turns[0].prompt
    return replace_entries(session, {first.offset: revise(first, {"parentUuid": encode(None)})})


def _file_time(session: Session) -> datetime:
    at = session.file.mtime_ns / 1e9 if isinstance(session.file, SessionFile) else 0
    return datetime.fromtimestamp(at, UTC)


def remove_stale_pins(session: Session) -> Repaired | None:
    """Remove pins on entries that are missing or an agent's: no conversation can continue from them."""
    removed = {e.offset: e.line.number for e in session.entries if e.type == "last-prompt" and _is_stale(session, e)}
    if not removed:
        return None
    items = tuple(item for item in session.items if item.line.offset not in removed)
    return Repaired(items, tuple(removed.values()))


def _is_stale(session: Session, pin: Entry) -> bool:
    if not pin.leaf or pin.leaf == NIL:
        return False
    named = session.links.nodes.get(pin.leaf)
    return named is None or (named.is_sidechain and not session.is_agent)


def pin_last_message(session: Session) -> Repaired | None:
    """Pin the last message where a later system line or an agent's message would hide it."""
    end, message = session.leaf, _last_message(session)
    if end is None or message is None or (end.type in SPOKEN and not end.is_sidechain):
        return None
    above = session.resume_links.path_to(end)
    spoken = next((e for e in reversed(above) if e.type in SPOKEN), None)
    if spoken is not None and not spoken.is_sidechain and (spoken.offset >= message.offset or _is_pinned(session, end)):
        return None
    return Repaired(pin_leaf(session.items, session, message.uuid), (message.line.number,))


def _is_pinned(session: Session, end: Entry) -> bool:
    return any(e.type == "last-prompt" and e.leaf == end.uuid for e in session.entries)


def _last_message(session: Session) -> Entry | None:
    messages = (e for e in reversed(session.entries) if e.type in SPOKEN and e.message and not e.is_sidechain)
    return next((e for e in messages if session.links.nodes.get(e.uuid) is e), None)


def make_leaf_newest(session: Session) -> Repaired | None:
    """Give the leaf the newest time, where versions that choose by time would stop at an entry above it."""
    end, old = session.leaf, session.version_paths.choose(BY_TIME).leaf
    if end is None or old is None or old.uuid == end.uuid:
        return None
    path = session.resume_links.path_to(end)
    at = next((i for i, e in enumerate(path) if e.uuid == old.uuid), len(path))
    if all(e.type not in SPOKEN for e in path[at + 1 :]):
        return None
    newest = max(t for e in session.entries if e.type in LINKED and (t := e.time))
    return replace_entries(session, {end.offset: revise(end, {"timestamp": encode(format_timestamp(newest + _STEP))})})
