"""Shorten the replies of older turns; prompts and recent turns stay unchanged.

boundary (logically below the last reply that was compressed, in the original)
      └ prompt → its replies as one text → prompt → … → the recent turns

All of it is sent by a resume: every version drops what is above the last boundary and nothing below it. So the
boundary is the root, or is below the one of an earlier compaction and takes over what that preserved. The original
replies are only in the original session, which is never changed; `logicalParentUuid` names the last of them there.
After each text follows a `summary` line that says what it replaces; readers take it for a title at most.

A compressed text is marked, so that a second compression changes it only for a shorter level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from clew.conversation.session import Session
from clew.edit.relink import pin_leaf, remove_entries
from clew.edit.summary.age_levels import Band, turn_levels
from clew.edit.summary.compact_boundary import (
    MARK,
    ResumeContent,
    earliest_time,
    make_boundary,
    restate_sizes,
    resume_content,
)
from clew.edit.summary.compress_turn import CompressTurn, Tools, compress_task, replace_replies, shorten_results
from clew.edit.summary.sentence_extract import shorten_line
from clew.edit.summary.summariser import Summarise, SummaryTask, TurnText, describe_turn
from clew.errors import ApiError
from clew.system.plural import plural
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import new_entry, parse_at, renumber, revise
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import Changes
from clew.wire.rename_ids import IdMapping, rename_references

KIND = "compress"  # the mark of a boundary that clew created
_TITLE = 160
_PRESERVED = ("preservedSegment", "preservedMessages")


class Compressed(Struct, frozen=True):
    """The items, the turns that were shortened, and the turns that were not because of an error."""

    items: tuple[Item, ...]
    turns: tuple[int, ...] = ()
    failed: tuple[tuple[int, ApiError], ...] = ()

    @property
    def step(self) -> str:
        failures = "; ".join(f"turn {number} stays as it was: {error}" for number, error in self.failed)
        return f"compress {plural(len(self.turns), 'turn')}" + (f"; {failures}" if failures else "")


def compress(session: Session, bands: Sequence[Band], summarise: Summarise, tools: Tools = "drop") -> Compressed:
    """Return the session with its turns shortened to the levels of their bands."""
    content = resume_content(session)
    work = turns_to_compress(content, bands, tools)
    long = [task for task in work if task.is_long]
    results = dict(zip((task.turn.number for task in long), summarise(summary_tasks(session, long)), strict=True))
    failed = tuple((number, result) for number, result in results.items() if isinstance(result, ApiError))
    missing = {number for number, _ in failed}
    done = [task for task in work if task.turn.number not in missing]
    if not done:
        return Compressed(session.items, failed=failed)
    texts = {task.turn.number: _shorter_text(task.text, results.get(task.turn.number)) for task in done}
    items = _rebuild(session, content, done, _change_replies(session, done, texts, tools))
    return Compressed(items, tuple(task.turn.number for task in done), failed)


def turns_to_compress(content: ResumeContent, bands: Sequence[Band], tools: Tools) -> list[CompressTurn]:
    """Return the turns that would change."""
    chosen = turn_levels(bands, len(content.turns))
    tasks = (compress_task(turn, level, tools) for turn, level in zip(content.turns, chosen, strict=True))
    return [task for task in tasks if task is not None]


def summary_tasks(session: Session, work: Iterable[CompressTurn]) -> list[SummaryTask]:
    """Return the summary tasks: the replies of each turn, with its prompt and calls as explanation."""
    texts = ((task, describe_turn(task.turn, task.turn.number, session.cwd)) for task in work)
    return [SummaryTask((TurnText(s.number, s.prompt, task.text, s.calls),), task.level.limit) for task, s in texts]


def _shorter_text(text: str, result: str | ApiError | None) -> str:
    return result if isinstance(result, str) and len(result) < len(text) else text


def _rebuild(
    session: Session, content: ResumeContent, done: Sequence[CompressTurn], changed: tuple[Item, ...]
) -> tuple[Item, ...]:
    """Return the changed items with new uuids for new texts, below a boundary."""
    marked = {task.carrier.uuid: task for task in done if task.carrier.uuid}
    names = IdMapping(session.id, marked)
    leaf = session.with_items(changed).leaf
    leaf_uuid = names.uuid(leaf.uuid) if leaf and leaf.uuid else None
    items, mark = _insert_boundary(
        session, content, _rename_texts(changed, names, marked), names, done[-1].carrier.uuid
    )
    rebuilt = Session(renumber(items), file=session.file)
    if rebuilt.title != session.title and leaf_uuid:  # the lines after the texts are not titles of the session
        title_line = new_entry({"type": "summary", "summary": session.title, "leafUuid": leaf_uuid})
        rebuilt = Session(renumber((*rebuilt.items, title_line)), file=session.file)
    return restate_sizes(session, pin_leaf(rebuilt.items, rebuilt, leaf_uuid), mark)


# -- the replies and their calls


def _change_replies(
    session: Session, done: Sequence[CompressTurn], texts: Mapping[int, str], tools: Tools
) -> tuple[Item, ...]:
    """Return the session with the replies of some turns replaced, and without lines about removed calls."""
    calls = _exclusive_calls(session, done)
    carriers = {task.carrier.uuid for task in done}
    changes = [replace_replies(task, texts[task.turn.number], calls) for task in done]
    asides = _inline_agent_uuids(session, calls) if tools == "drop" else set()
    removed: set[int] = set()
    for entry in session.entries:
        if any(block.tool_use_id in calls for block in entry.results):
            changes.append({entry.offset: shorten_results(entry, calls, tools)})
        elif entry.uuid in asides or _is_about_calls(entry, calls, tools) or _describes_carrier(entry, carriers):
            removed.add(entry.offset)
    revised: dict[int, Entry] = {}
    for offset, changed in (pair for task in changes for pair in task.items()):
        if changed is None:
            removed.add(offset)
        else:
            revised[offset] = changed
    return remove_entries(session, removed, revised)


def _exclusive_calls(session: Session, done: Iterable[CompressTurn]) -> set[str]:
    """Return the calls of some turns that no other entry makes too."""
    reply_offsets = {entry.offset for task in done for entry in task.replies}
    others = (
        use.id
        for entry in session.entries
        if entry.type == "assistant" and entry.offset not in reply_offsets
        for use in entry.uses
    )
    return {call for task in done for call in task.calls}.difference(others)


def _is_about_calls(entry: Entry, calls: Collection[str], tools: Tools) -> bool:
    """Return whether a line is only about calls: progress, or context from a hook."""
    if entry.type == "progress":
        return entry.parent_tool_use in calls
    if entry.type == "attachment" and tools == "drop" and b"toolUseID" in entry.raw:
        inside = decode(entry.attachment)
        return isinstance(inside, dict) and inside.get("toolUseID") in calls
    return False


def _describes_carrier(entry: Entry, carriers: Collection[str | None]) -> bool:
    """Return whether a line describes what one of these texts replaced before."""
    return entry.type == "summary" and entry.leaf in carriers and MARK in entry.data


def _inline_agent_uuids(session: Session, calls: Collection[str]) -> set[str]:
    """Return the entries of agents inside the file whose calls are removed."""
    agents = (agent for agent in session.agents if agent.file is None and agent.call and agent.call.id in calls)
    return {entry.uuid for agent in agents for entry in agent.session.entries if entry.uuid}


# -- uuids


def _rename_texts(items: Iterable[Item], names: IdMapping, marked: Mapping[str, CompressTurn]) -> list[Item]:
    """Return the items with new uuids for new texts, each followed by a line that describes it."""
    items_left: list[Item] = []
    for item in items:
        if not isinstance(item, Entry):
            items_left.append(item)
            continue
        touched = (item.uuid, item.parent, item.logical_parent, item.leaf, item.message_id, item.source_tool_assistant)
        is_touched = item.is_boundary or any(uuid in names.known for uuid in touched if uuid)
        entry = parse_at(rename_references(item, names).json, item.line) if is_touched else item
        items_left.append(entry)
        if item.uuid and item.uuid in marked and item.text.strip():
            level = marked[item.uuid].level.name
            description = {
                "type": "summary",
                "summary": shorten_line(item.text, _TITLE),
                "leafUuid": entry.uuid,
                MARK: level,
            }
            items_left.append(new_entry(description))
    return items_left


# -- the boundary


def _insert_boundary(
    session: Session, content: ResumeContent, items: Sequence[Item], names: IdMapping, last: str | None
) -> tuple[list[Item], str | None]:
    """Return the items with a boundary above everything that is sent, and its uuid; an earlier boundary of clew is
    reused.
    """
    top = content.top
    if top is not None and top.data.get(MARK) == KIND:
        changes: Changes = {"logicalParentUuid": encode(last)}
        return [revise(i, changes) if isinstance(i, Entry) and i.uuid == top.uuid else i for i in items], top.uuid
    # Example: a resume sends c d e. The boundary comes before c and becomes its parent; a and b stay in the file, and
    # are not sent any more.
    by_uuid = {item.uuid: item for item in items if isinstance(item, Entry) and item.uuid}
    chain = [by_uuid[uuid] for e in content.chain if e is not top and (uuid := names.uuid(e.uuid or "")) in by_uuid]
    first = chain[0] if chain else None
    early = earliest_time([entry.time for entry in (first, *content.chain) if entry])
    new_boundary = make_boundary(session, first or content.chain[-1], early, last, KIND)
    if top is not None:
        new_boundary = _take_over_preserved(new_boundary, by_uuid[top.uuid or ""])
    sent_lines = {id(entry) for entry in chain}
    at = next((index for index, item in enumerate(items) if id(item) in sent_lines), len(items))
    relinked = [
        revise(first, {"parentUuid": encode(new_boundary.uuid)}) if first and item is first else item for item in items
    ]
    return [*relinked[:at], new_boundary, *relinked[at:]], new_boundary.uuid


def _take_over_preserved(new_boundary: Entry, top: Entry) -> Entry:
    """Link a boundary below an earlier one and copy what that one preserves."""
    metadata = top.data.get("compactMetadata")
    preserved: dict[str, Any] = (
        {key: metadata[key] for key in _PRESERVED if key in metadata} if isinstance(metadata, dict) else {}
    )
    for segment in preserved.values():
        if isinstance(segment, dict) and segment.get("anchorUuid") == top.uuid:
            segment["anchorUuid"] = new_boundary.uuid
    inner = {key: encode(value) for key, value in preserved.items()}
    return revise(new_boundary, {"parentUuid": encode(top.uuid), "compactMetadata": inner})
