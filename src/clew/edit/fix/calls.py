"""Answers: calls without a result, results without a call, and results that came twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from clew.conversation.active_path import after_compaction
from clew.conversation.replies import Call
from clew.conversation.reply_ids import reply_id
from clew.conversation.session import Session
from clew.edit.fix.links import Mended, with_entries
from clew.edit.relink import remove_entries
from clew.wire.content_block import result_text
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import block_bytes, new_entry, renumber, replace_blocks, revise
from clew.wire.json_codec import encode
from clew.wire.json_splice import splice
from clew.wire.rename_ids import new_uuid
from clew.wire.timestamps import stamp

NO_RESULT = "The result of this call is not in the session. (Noted by clew, which repaired it.)"
NO_CALL = "A tool answered this to a call that is not in the session:"


def part_calls(session: Session) -> Mended | None:
    """One id, one call, on the active path. A call repeated in its own reply goes; another reply's gets an id of its own.

    The results behind it that answer to the old id are taken to be its own.
    """
    owner: dict[str, str | None] = {}
    now: dict[str, str] = {}
    changes: dict[int, dict[int, bytes | None]] = {}
    held: dict[int, Entry] = {}
    for entry in session.active:
        raw = block_bytes(entry) if entry.uses or entry.results else []
        for index, block in enumerate(entry.blocks if raw else ()):
            if block.type == "tool_use" and block.id in owner:
                is_copy = owner[block.id] == reply_id(entry)
                now[block.id] = block.id if is_copy else _fresh_id(session, f"{entry.uuid} {index}")
                change = None if is_copy else splice(raw[index], {"id": encode(now[block.id])})
            elif (
                block.type == "tool_result" and now.get(block.tool_use_id or "", block.tool_use_id) != block.tool_use_id
            ):
                change = splice(raw[index], {"tool_use_id": encode(now[block.tool_use_id or ""])})
            else:
                if block.type == "tool_use" and block.id:
                    owner[block.id] = reply_id(entry)
                continue
            held[entry.offset] = entry
            changes.setdefault(entry.offset, {})[index] = change
    gone = {o for o, each in changes.items() if list(each.values()) == [None] * len(held[o].blocks)}
    revised = {o: replace_blocks(held[o], each) for o, each in changes.items() if o not in gone}
    if not changes:
        return None
    return Mended(remove_entries(session, gone, revised), tuple(sorted(e.line.number for e in held.values())))


def _fresh_id(session: Session, place: str) -> str:
    """An id in the form of the API. With a suffix on the old one, 2.1.325 was seen to miss the result."""
    return f"toolu_01{new_uuid(session.id, f'call {place}').replace('-', '')[:22]}"


def keep_first(session: Session) -> Mended | None:
    """One result for each call on the active path: the first, which the newest version goes by too."""
    active = {e.offset for e in session.active}
    extras: dict[int, set[str]] = {}
    for call in session.calls:
        for entry in call.extras:
            if entry.offset in active and call.result_entry and call.result_entry.offset in active:
                extras.setdefault(entry.offset, set()).add(call.id)
    if not extras:
        return None
    gone: set[int] = set()
    revised: dict[int, Entry] = {}
    seen: set[tuple[int, str]] = {(c.result_entry.offset, c.id) for c in session.calls if c.result_entry}
    touched = [e for e in session.entries if e.offset in extras]
    for entry in touched:
        unwanted: dict[int, bytes | None] = {}
        for index, block in enumerate(entry.blocks):
            use = block.tool_use_id or ""
            if block.type == "tool_result" and use in extras[entry.offset]:
                if (entry.offset, use) in seen:
                    seen.discard((entry.offset, use))  # the first one stands in this very entry
                else:
                    unwanted[index] = None
        if len(unwanted) == len(entry.blocks):
            gone.add(entry.offset)
        elif unwanted:
            revised[entry.offset] = replace_blocks(entry, unwanted)
    return Mended(remove_entries(session, gone, revised), tuple(e.line.number for e in touched))


def tell_orphans(session: Session) -> Mended | None:
    """Results whose call is lost become texts: what they say stays, and nothing is there that the API would refuse."""
    known = {call.id for call in session.calls}
    revised: dict[int, Entry] = {}
    for entry in session.pairing.orphans:
        blocks = {
            i: encode({"type": "text", "text": f"{NO_CALL}\n{result_text(block.content)}".rstrip()})
            for i, block in enumerate(entry.blocks)
            if block.type == "tool_result" and block.tool_use_id not in known
        }
        left = any(b.type == "tool_result" and b.tool_use_id in known for b in entry.blocks)
        made = replace_blocks(entry, blocks)
        revised[entry.offset] = made if left else revise(made, {"isMeta": b"true"})
    return with_entries(session, revised)


def answer_all(session: Session) -> Mended | None:
    """An error for each call inside the conversation that nothing answers: a reply with it would not be sent.

    A last reply that nobody spoke after is left alone: it may be waiting, and the program answers it by itself.
    """
    end = session.leaf
    if end is None:
        return None
    path = after_compaction(session.resume_links.path_to(end))
    waiting = _waiting(path)
    open_calls: dict[str | None, list[Call]] = {}
    shown = {e.uuid for e in session.active}
    for call in session.pairing.open:
        if call.entry.uuid in shown and reply_id(call.entry) != waiting:
            open_calls.setdefault(reply_id(call.entry), []).append(call)
    behind: dict[int, list[Entry]] = {}
    moved: dict[str | None, str] = {}
    anchors = _anchors(path, session.calls)
    for reply, calls in open_calls.items():
        anchor = anchors.get(reply)
        if anchor is not None:
            answers = list(_answers(session, calls, anchor))
            behind[anchor.offset] = answers
            moved[anchor.uuid] = str(answers[-1].uuid)
    if not behind:
        return None
    lines = tuple(call.entry.line.number for calls in open_calls.values() for call in calls)
    return Mended(renumber(_inserted(session, behind, moved)), lines)


def _waiting(path: Sequence[Entry]) -> str | None:
    """The reply that ends the path, if nobody spoke after it."""
    for entry in reversed(path):
        if entry.type == "assistant":
            return reply_id(entry)
        if entry.type == "user" and not entry.results:
            return None
    return None


def _anchors(path: Sequence[Entry], calls: Sequence[Call]) -> dict[str | None, Entry]:
    """For each reply the last entry of the path that is part of it, or answers a call of it."""
    owner = {call.id: reply_id(call.entry) for call in calls}
    found: dict[str | None, Entry] = {}
    for entry in path:
        if entry.type == "assistant":
            found[reply_id(entry)] = entry
        for block in entry.results:
            if block.tool_use_id in owner and owner[block.tool_use_id] in found:
                found[owner[block.tool_use_id]] = entry
    return found


def _answers(session: Session, calls: Sequence[Call], anchor: Entry) -> Iterator[Entry]:
    parent = anchor.uuid
    for number, call in enumerate(calls, 1):
        uuid = new_uuid(session.id, f"answer {call.id}")
        data: dict[str, Any] = {"parentUuid": parent, "isSidechain": False}
        copied = ("userType", "cwd", "sessionId", "version", "gitBranch", "entrypoint")
        data |= {name: value for name, value in call.entry.data.items() if name in copied}
        result = {"type": "tool_result", "content": NO_RESULT, "is_error": True, "tool_use_id": call.id}
        data |= {"type": "user", "message": {"role": "user", "content": [result]}, "uuid": uuid}
        if anchor.time:
            data["timestamp"] = stamp(anchor.time + timedelta(milliseconds=number))
        data |= {"toolUseResult": f"Error: {NO_RESULT}", "sourceToolAssistantUUID": call.entry.uuid}
        yield new_entry(data)
        parent = uuid


def _inserted(session: Session, behind: dict[int, list[Entry]], moved: dict[str | None, str]) -> Iterator[Item]:
    """The items with the answers behind their anchors; what came behind an anchor comes behind its answers."""
    replies = {e.uuid: reply_id(e) for e in session.entries if e.type == "assistant"}
    for item in session.items:
        if isinstance(item, Entry) and item.parent in moved and item.type != "progress":
            is_part = item.type == "assistant" and replies.get(item.parent) == reply_id(item)
            item = item if is_part else revise(item, {"parentUuid": encode(moved[item.parent])})
        yield item
        yield from behind.get(item.line.offset, ())
