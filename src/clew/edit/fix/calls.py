"""Repair calls without a result, results without a call, and repeated results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from clew.conversation.active_path import after_compaction
from clew.conversation.replies import Call
from clew.conversation.reply_ids import reply_id
from clew.conversation.session import Session
from clew.edit.fix.links import Repaired, replace_entries
from clew.edit.relink import remove_entries
from clew.wire.content_block import result_text
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import block_bytes, new_entry, renumber, replace_blocks, revise
from clew.wire.json_codec import encode
from clew.wire.json_splice import splice
from clew.wire.rename_ids import new_uuid
from clew.wire.timestamps import format_timestamp

NO_RESULT = "The result of this call is not in the session. (Noted by clew, which repaired it.)"
NO_CALL = "A tool answered this to a call that is not in the session:"


def separate_calls(session: Session) -> Repaired | None:
    """Give each call on the active path its own id. A call repeated in its own reply is removed.

    Results after a renamed call that answer the old id belong to the renamed call.
    """
    # Example: toolu_1 is used by two replies, each with a result. The second use gets a new id, and so does the result
    # after it. If one reply repeats toolu_1, the repetition is removed instead.
    ids = [block.id for entry in session.entries for block in entry.uses if block.id]
    if len(ids) == len(set(ids)):
        return None
    owner: dict[str, str | None] = {}
    new_ids: dict[str, str] = {}
    changes: dict[int, dict[int, bytes | None]] = {}
    touched: dict[int, Entry] = {}
    for entry in session.active:
        for index, block in enumerate(entry.blocks):
            if block.type == "tool_use" and block.id in owner:
                is_copy = owner[block.id] == reply_id(entry)
                new_ids[block.id] = block.id if is_copy else _new_call_id(session, f"{entry.uuid} {index}")
                change = None if is_copy else splice(block_bytes(entry)[index], {"id": encode(new_ids[block.id])})
            elif (
                block.type == "tool_result"
                and new_ids.get(block.tool_use_id or "", block.tool_use_id) != block.tool_use_id
            ):
                change = splice(block_bytes(entry)[index], {"tool_use_id": encode(new_ids[block.tool_use_id or ""])})
            else:
                if block.type == "tool_use" and block.id:
                    owner[block.id] = reply_id(entry)
                continue
            touched[entry.offset] = entry
            changes.setdefault(entry.offset, {})[index] = change
    removed = {o for o, blocks in changes.items() if list(blocks.values()) == [None] * len(touched[o].blocks)}
    revised = {o: replace_blocks(touched[o], blocks) for o, blocks in changes.items() if o not in removed}
    if not changes:
        return None
    return Repaired(remove_entries(session, removed, revised), tuple(sorted(e.line.number for e in touched.values())))


def _new_call_id(session: Session, seed: str) -> str:
    """Return an id in the form of the API. With a suffix on the old id, 2.1.325 did not find the result."""
    return f"toolu_01{new_uuid(session.id, f'call {seed}').replace('-', '')[:22]}"


def keep_first_results(session: Session) -> Repaired | None:
    """Keep one result for each call on the active path: the first, which the newest version uses too."""
    if not any(call.extras for call in session.calls):
        return None
    active = {e.offset for e in session.active}
    extras: dict[int, set[str]] = {}
    for call in session.calls:
        for entry in call.extras:
            if entry.offset in active and call.result_entry and call.result_entry.offset in active:
                extras.setdefault(entry.offset, set()).add(call.id)
    if not extras:
        return None
    removed: set[int] = set()
    revised: dict[int, Entry] = {}
    first_results: set[tuple[int, str]] = {(c.result_entry.offset, c.id) for c in session.calls if c.result_entry}
    touched = [e for e in session.entries if e.offset in extras]
    for entry in touched:
        unwanted: dict[int, bytes | None] = {}
        for index, block in enumerate(entry.blocks):
            use = block.tool_use_id or ""
            if block.type == "tool_result" and use in extras[entry.offset]:
                if (entry.offset, use) in first_results:
                    first_results.discard((entry.offset, use))  # the first one stands in this very entry
                else:
                    unwanted[index] = None
        if len(unwanted) == len(entry.blocks):
            removed.add(entry.offset)
        elif unwanted:
            revised[entry.offset] = replace_blocks(entry, unwanted)
    return Repaired(remove_entries(session, removed, revised), tuple(e.line.number for e in touched))


def orphans_to_text(session: Session) -> Repaired | None:
    """Convert results without a call to texts, which the API accepts."""
    known = {call.id for call in session.calls}
    revised: dict[int, Entry] = {}
    for entry in session.pairing.orphans:
        blocks = {
            i: encode({"type": "text", "text": f"{NO_CALL}\n{result_text(block.content)}".rstrip()})
            for i, block in enumerate(entry.blocks)
            if block.type == "tool_result" and block.tool_use_id not in known
        }
        left = any(b.type == "tool_result" and b.tool_use_id in known for b in entry.blocks)
        converted = replace_blocks(entry, blocks)
        revised[entry.offset] = converted if left else revise(converted, {"isMeta": b"true"})
    return replace_entries(session, revised)


def answer_open_calls(session: Session) -> Repaired | None:
    """Add an error result for each unanswered call inside the conversation: without it the reply is not sent.

    A last reply without a message after it is not changed: it may be waiting, and Claude Code answers it.
    """
    end = session.leaf
    if end is None or not session.pairing.open:
        return None
    path = after_compaction(session.resume_links.path_to(end))
    waiting = _waiting_reply(path)
    open_calls: dict[str | None, list[Call]] = {}
    shown = {e.uuid for e in session.active}
    for call in session.pairing.open:
        if call.entry.uuid in shown and reply_id(call.entry) != waiting:
            open_calls.setdefault(reply_id(call.entry), []).append(call)
    inserted: dict[int, list[Entry]] = {}
    moved: dict[str | None, str] = {}
    anchors = _anchors(path, session.calls)
    for reply, calls in open_calls.items():
        anchor = anchors.get(reply)
        if anchor is not None:
            answers = list(_error_results(session, calls, anchor))
            inserted[anchor.offset] = answers
            moved[anchor.uuid] = str(answers[-1].uuid)
    if not inserted:
        return None
    lines = tuple(call.entry.line.number for calls in open_calls.values() for call in calls)
    return Repaired(renumber(_insert_results(session, inserted, moved)), lines)


def _waiting_reply(path: Sequence[Entry]) -> str | None:
    """Return the reply that ends the path, if no message follows it."""
    for entry in reversed(path):
        if entry.type == "assistant":
            return reply_id(entry)
        if entry.type == "user" and not entry.results:
            return None
    return None


def _anchors(path: Sequence[Entry], calls: Sequence[Call]) -> dict[str | None, Entry]:
    """Return for each reply the last entry of the path that is part of it or answers one of its calls."""
    owner = {call.id: reply_id(call.entry) for call in calls}
    anchors: dict[str | None, Entry] = {}
    for entry in path:
        if entry.type == "assistant":
            anchors[reply_id(entry)] = entry
        for block in entry.results:
            if block.tool_use_id in owner and owner[block.tool_use_id] in anchors:
                anchors[owner[block.tool_use_id]] = entry
    return anchors


def _error_results(session: Session, calls: Sequence[Call], anchor: Entry) -> Iterator[Entry]:
    parent = anchor.uuid
    for number, call in enumerate(calls, 1):
        uuid = new_uuid(session.id, f"answer {call.id}")
        data: dict[str, Any] = {"parentUuid": parent, "isSidechain": False}
        copied = ("userType", "cwd", "sessionId", "version", "gitBranch", "entrypoint")
        data |= {name: value for name, value in call.entry.data.items() if name in copied}
        result = {"type": "tool_result", "content": NO_RESULT, "is_error": True, "tool_use_id": call.id}
        data |= {"type": "user", "message": {"role": "user", "content": [result]}, "uuid": uuid}
        if anchor.time:
            data["timestamp"] = format_timestamp(anchor.time + timedelta(milliseconds=number))
        data |= {"toolUseResult": f"Error: {NO_RESULT}", "sourceToolAssistantUUID": call.entry.uuid}
        yield new_entry(data)
        parent = uuid


def _insert_results(session: Session, inserted: dict[int, list[Entry]], moved: dict[str | None, str]) -> Iterator[Item]:
    """Yield the items with results after their anchors; entries below an anchor move below its results."""
    replies = {e.uuid: reply_id(e) for e in session.entries if e.type == "assistant"}
    for item in session.items:
        if isinstance(item, Entry) and item.parent in moved and item.type != "progress":
            is_part = item.type == "assistant" and replies.get(item.parent) == reply_id(item)
            item = item if is_part else revise(item, {"parentUuid": encode(moved[item.parent])})
        yield item
        yield from inserted.get(item.line.offset, ())
