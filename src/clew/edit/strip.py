"""Strip thinking, images, copies of results, bookkeeping lines and compacted entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew.conversation.agent_sessions import AGENT_TOOLS
from clew.conversation.session import Session
from clew.edit.media_placeholders import PICTURES, is_picture, placeholder
from clew.edit.relink import parent_of, remove_entries
from clew.edit.removals import Removals, raw_blocks
from clew.edit.trim_tools import pending_reply
from clew.wire.content_block import THINKING_TYPES, Block
from clew.wire.entry import Entry, Item
from clew.wire.entry_types import Compaction
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import splice

PROGRESS, SNAPSHOTS, STATE, REQUESTS = "progress", "snapshots", "state", "requests"
LINES = {  # the types of lines in each group; other lines are never removed
    PROGRESS: frozenset({"progress"}),
    SNAPSHOTS: frozenset({"file-history-snapshot", "file-history-delta"}),
    REQUESTS: frozenset({"api-request", "api-request-blob", "api-request-shape"}),
    STATE: frozenset(
        {
            "last-prompt",
            "mode",
            "permission-mode",
            "atis-latch",
            "cost-state",
            "tools-used",
            "custom-title",
            "ai-title",
            "agent-name",
            "agent-color",
            "agent-setting",
            "tag",
            "worktree-state",
        }
    ),
}
_NO_COPY = (b"", b"null")
_REPEATED_FIELDS = ("content", "prompt")  # texts of an agent's record; its other fields identify the agent


def cut_thinking(session: Session) -> Removals:
    """Remove thinking blocks with their signatures. A turn in progress keeps them: the API requires it."""
    current = _current_turn(session)
    cut = Removals()
    for entry in session.entries:
        if entry.type == "assistant" and entry.offset not in current:
            thought = [i for i, block in enumerate(entry.blocks) if block.type in THINKING_TYPES]
            if thought:
                cut.blocks[entry.offset] = dict.fromkeys(thought)
    return cut


def cut_pictures(session: Session) -> Removals:
    """Replace images and documents by placeholders, and remove Claude Code's copies of them."""
    pending = {use.id for entry in pending_reply(session) for use in entry.uses}
    cut = Removals()
    for entry in session.entries:
        content = entry.message.content if entry.message else None
        if not isinstance(content, list) or not any(_holds_picture(block) for block in content):
            continue
        if any(block.tool_use_id in pending for block in entry.results):
            continue
        parts = raw_blocks(entry)
        cut.blocks[entry.offset] = {
            i: _with_placeholder(b, parts[i]) for i, b in enumerate(content) if _holds_picture(b)
        }
        if bytes(entry.tool_use_result) not in _NO_COPY:
            cut.fields[entry.offset] = _record_changes(entry)
    return cut


def cut_copies(session: Session) -> Removals:
    """Remove Claude Code's records of results, which repeat them; of an agent's record only the texts."""
    agent_results = {
        call.result_entry.offset for call in session.calls if call.name in AGENT_TOOLS and call.result_entry
    }
    cut = Removals()
    for entry in session.entries:
        if bytes(entry.tool_use_result) not in _NO_COPY and not _records_failure(entry):
            changes = _agent_record_changes(entry) if entry.offset in agent_results else {"toolUseResult": None}
            if changes:
                cut.fields[entry.offset] = changes
    return cut


def cut_lines(session: Session, groups: Iterable[str]) -> Removals:
    """Remove the lines of some groups. Each kind of state keeps its newest line, the one that counts."""
    chosen = set(groups)
    types = frozenset().union(*(LINES[group] for group in chosen - {STATE}))
    cut = Removals({entry.offset for entry in session.entries if entry.type in types})
    if STATE in chosen:
        newest: dict[tuple[Any, ...], int] = {}
        for entry in session.entries:
            if entry.type in LINES[STATE]:
                cut.gone.add(entry.offset)
                newest[_state_key(entry)] = entry.offset
        cut.gone.difference_update(newest.values())
    return cut


def drop_compacted(session: Session) -> tuple[Item, ...]:
    """Remove what precedes the last compaction and was not preserved by it: no resume sends that.

    The last turn stays whole if the compaction came within it: the session would be left without a turn. A branch that was
    written after the compaction keeps the entries above it.
    """
    boundary = next((entry for entry in reversed(session.active) if entry.is_boundary), None)
    if boundary is None or not session.turns:
        return session.items
    preserved = _preserved(session, boundary)
    compacted = {
        e.offset
        for e in session.entries
        if e.offset < boundary.offset and e.uuid and e.uuid not in preserved and e.type in _CONVERSATION
    }
    compacted -= _ancestors_of_branches(session, compacted, boundary)
    last_prompt = session.turns[-1].prompt.offset
    removed = {offset for offset in compacted if offset < last_prompt}
    removed -= _halves_of_kept_calls(session, removed)
    return remove_entries(session, removed) if removed else session.items


_CONVERSATION = frozenset({"user", "assistant", "system", "attachment", "progress"})


def _current_turn(session: Session) -> set[int]:
    """Return the offsets of the last turn if the model has not finished it."""
    if not pending_reply(session):
        return set()
    last = session.turns[-1].entries if session.turns else session.preamble
    return {entry.offset for entry in last}


# -- pictures


def _holds_picture(block: Block) -> bool:
    if block.type in PICTURES:
        return True
    return block.type == "tool_result" and isinstance(block.content, list) and any(map(is_picture, block.content))


def _with_placeholder(block: Block, json: bytes) -> bytes:
    if block.type in PICTURES:
        return encode(_text(placeholder(decode(json))))
    content = [_text(placeholder(part)) if is_picture(part) else part for part in block.content]
    return splice(json, {"content": encode(content)})


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


# -- copies


def _record_changes(entry: Entry) -> dict[str, Any]:
    record = decode(entry.tool_use_result)
    is_agent = isinstance(record, dict) and ("agentId" in record or "agent_id" in record)
    return _agent_record_changes(entry) if is_agent else {"toolUseResult": None}


def _records_failure(entry: Entry) -> bool:
    """Return whether only the record shows that a tool failed: a string, next to a result without `is_error`."""
    return any(result.is_error is None and entry.failed(result) for result in entry.results)


def _agent_record_changes(entry: Entry) -> dict[str, Any]:
    record = decode(entry.tool_use_result)
    repeated = [name for name in _REPEATED_FIELDS if isinstance(record, dict) and name in record]
    return {"toolUseResult": dict.fromkeys(repeated)} if repeated else {}


# -- lines


def _state_key(entry: Entry) -> tuple[Any, ...]:
    """Return the key by which lines replace each other; a pin without a leaf does not replace one that has it."""
    if entry.type != "last-prompt":
        return (entry.type,)
    return (entry.type, bool(entry.leaf))


# -- compacted entries


def _preserved(session: Session, boundary: Entry) -> set[str]:
    compaction = Compaction.of(boundary)
    uuids = set(compaction.messages.uuids) if compaction.messages else set()
    if compaction.segment:
        uuids.update(session.graph.segment(compaction.segment.head, compaction.segment.tail))
    return uuids


def _ancestors_of_branches(session: Session, compacted: set[int], boundary: Entry) -> set[int]:
    """Return the ancestors of entries written after a compaction, with what earlier compactions preserved for them."""
    nodes = session.graph.nodes
    ancestors: set[int] = set()
    pending = [e for e in session.entries if e.offset > boundary.offset and e.uuid and e.type in _CONVERSATION]
    while pending:
        entry = pending.pop()
        names = [
            parent_of(session, entry),
            *(_preserved(session, entry) if entry.offset in ancestors and entry.is_boundary else ()),
        ]
        for parent in (nodes[name] for name in names if name in nodes):
            if parent.offset in compacted and parent.offset not in ancestors:
                ancestors.add(parent.offset)
                pending.append(parent)
    return ancestors


def _halves_of_kept_calls(session: Session, removed: set[int]) -> set[int]:
    """Return the calls and results among the removed whose other half is kept."""
    needed: set[int] = set()
    for call in session.calls:
        halves = [call.entry, *(e for e in (call.result_entry, *call.extras) if e)]
        if any(e.offset not in removed for e in halves):
            needed.update(e.offset for e in halves)
    return needed
