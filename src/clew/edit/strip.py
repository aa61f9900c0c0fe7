"""Stripping: thinking, pictures, the program's copies of results, lines that no model sees, what was compacted away."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew.conversation.agent_sessions import AGENT_TOOLS
from clew.conversation.replies import pair_calls
from clew.conversation.session import Session
from clew.edit.media_placeholders import PICTURES, is_picture, note
from clew.edit.relink import above, without
from clew.edit.removals import THOUGHT, Removals, blocks_of
from clew.edit.trim_tools import waiting
from clew.wire.content_block import Block
from clew.wire.entry import Entry, Item
from clew.wire.entry_types import Compaction
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import splice

PROGRESS, SNAPSHOTS, STATE, REQUESTS = "progress", "snapshots", "state", "requests"
LINES = {  # the types of lines in each group; no other line is ever taken for one of them
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
_SAID_AGAIN = ("content", "prompt")  # of an agent's record: the rest of it tells which agent it was


def cut_thinking(session: Session) -> Removals:
    """Without thinking, each block whole with its signature. A turn that the model is still in keeps it: the API asks."""
    kept = _current(session)
    cut = Removals()
    for entry in session.entries:
        if entry.type == "assistant" and entry.offset not in kept:
            thought = [i for i, block in enumerate(entry.blocks) if block.type in THOUGHT]
            if thought:
                cut.blocks[entry.offset] = dict.fromkeys(thought)
    return cut


def cut_pictures(session: Session) -> Removals:
    """With a note in the place of each picture and document, and without the program's copy of it."""
    unseen = {use.id for entry in waiting(session) for use in entry.uses}
    cut = Removals()
    for entry in session.entries:
        content = entry.message.content if entry.message else None
        if not isinstance(content, list) or not any(_holds_picture(block) for block in content):
            continue
        if any(block.tool_use_id in unseen for block in entry.results):
            continue
        parts = blocks_of(entry)
        cut.blocks[entry.offset] = {i: _noted(b, parts[i]) for i, b in enumerate(content) if _holds_picture(b)}
        if bytes(entry.tool_use_result) not in _NO_COPY:
            cut.fields[entry.offset] = _without_copy(entry)
    return cut


def cut_copies(session: Session) -> Removals:
    """Without the program's own records of results, which repeat them; of an agent's the words alone."""
    begun = {call.result_entry.offset for call in session.calls if call.name in AGENT_TOOLS and call.result_entry}
    cut = Removals()
    for entry in session.entries:
        if bytes(entry.tool_use_result) not in _NO_COPY and not _is_only_sign(entry):
            changes = _without_words(entry) if entry.offset in begun else {"toolUseResult": None}
            if changes:
                cut.fields[entry.offset] = changes
    return cut


def cut_lines(session: Session, groups: Iterable[str]) -> Removals:
    """Without the lines of some groups. Of the state each kind keeps its newest line, the one that counts."""
    chosen = set(groups)
    types = frozenset().union(*(LINES[group] for group in chosen - {STATE}))
    cut = Removals({entry.offset for entry in session.entries if entry.type in types})
    if STATE in chosen:
        newest: dict[tuple[Any, ...], int] = {}
        for entry in session.entries:
            if entry.type in LINES[STATE]:
                cut.gone.add(entry.offset)
                newest[_kind(entry)] = entry.offset
        cut.gone.difference_update(newest.values())
    return cut


def drop_compacted(session: Session) -> tuple[Item, ...]:
    """Without what stands before the last compaction and was not kept by it: no resume sends that any more.

    Nothing is removed if no prompt came since: the session would be left without a turn. A branch that was written after
    the compaction keeps the entries it hangs below.
    """
    boundary = next((entry for entry in reversed(session.active) if entry.is_boundary), None)
    if boundary is None or not any(turn.prompt.offset > boundary.offset for turn in session.turns):
        return session.items
    kept = _preserved(session, boundary)
    gone = {
        e.offset
        for e in session.entries
        if e.offset < boundary.offset and e.uuid and e.uuid not in kept and e.type in _CONVERSATION
    }
    gone -= _ancestors_of_branches(session, gone, boundary)
    return without(session, gone - _partners(session, gone))


_CONVERSATION = frozenset({"user", "assistant", "system", "attachment", "progress"})


def _current(session: Session) -> set[int]:
    """The entries of the last turn if the model is still in it."""
    if not waiting(session):
        return set()
    last = session.turns[-1].entries if session.turns else session.preamble
    return {entry.offset for entry in last}


# -- pictures


def _holds_picture(block: Block) -> bool:
    if block.type in PICTURES:
        return True
    return block.type == "tool_result" and isinstance(block.content, list) and any(map(is_picture, block.content))


def _noted(block: Block, json: bytes) -> bytes:
    if block.type in PICTURES:
        return encode(_text(note(decode(json))))
    content = [_text(note(part)) if is_picture(part) else part for part in block.content]
    return splice(json, {"content": encode(content)})


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


# -- copies


def _without_copy(entry: Entry) -> dict[str, Any]:
    record = decode(entry.tool_use_result)
    is_agent = isinstance(record, dict) and ("agentId" in record or "agent_id" in record)
    return _without_words(entry) if is_agent else {"toolUseResult": None}


def _is_only_sign(entry: Entry) -> bool:
    """Whether the record is all that says that a tool failed: a string, beside a result that does not say it itself."""
    return any(result.is_error is None and entry.failed(result) for result in entry.results)


def _without_words(entry: Entry) -> dict[str, Any]:
    record = decode(entry.tool_use_result)
    found = [name for name in _SAID_AGAIN if isinstance(record, dict) and name in record]
    return {"toolUseResult": dict.fromkeys(found)} if found else {}


# -- lines


def _kind(entry: Entry) -> tuple[Any, ...]:
    """Lines of one kind replace each other; of two pins only one that names a leaf replaces one that does."""
    if entry.type != "last-prompt":
        return (entry.type,)
    return (entry.type, bool(entry.leaf))


# -- what was compacted away


def _preserved(session: Session, boundary: Entry) -> set[str]:
    made = Compaction.of(boundary)
    kept = set(made.messages.uuids) if made.messages else set()
    if made.segment and made.segment.tail in session.graph.nodes:
        line = list(session.graph.ancestry(made.segment.tail))
        if made.segment.head in line:
            kept.update(line[: line.index(made.segment.head) + 1])
    return kept


def _ancestors_of_branches(session: Session, gone: set[int], boundary: Entry) -> set[int]:
    """The entries above those that were written after a compaction, with what earlier compactions preserved for them."""
    nodes = session.graph.nodes
    found: set[int] = set()
    pending = [e for e in session.entries if e.offset > boundary.offset and e.uuid and e.type in _CONVERSATION]
    while pending:
        entry = pending.pop()
        names = [
            above(session, entry),
            *(_preserved(session, entry) if entry.offset in found and entry.is_boundary else ()),
        ]
        for over in (nodes[name] for name in names if name in nodes):
            if over.offset in gone and over.offset not in found:
                found.add(over.offset)
                pending.append(over)
    return found


def _partners(session: Session, gone: set[int]) -> set[int]:
    """Of those that would go the calls and results whose other half stays."""
    kept: set[int] = set()
    for call in pair_calls(session.entries).calls:
        halves = [call.entry, *(e for e in (call.result_entry, *call.extras) if e)]
        if any(e.offset not in gone for e in halves):
            kept.update(e.offset for e in halves)
    return kept
