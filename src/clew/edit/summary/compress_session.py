"""Compression: the replies of older turns in fewer words; prompts stay word for word, recent turns as they are.

    boundary (logically below the last reply that was compressed, in the original)
      └ prompt → its replies as one text → prompt → … → the recent turns

All of it is sent when the session is resumed: every version drops what stands above the last boundary and nothing below
it. So the boundary is the root, or hangs below the one of an earlier compaction and takes over what that preserved. The
replies as they were are in the original alone, which is never changed; `logicalParentUuid` names the last of them there.
Behind each text stands a `summary` line that says what it stands for; readers take it for a title at most.

A text that was compressed is marked, so that compressing again leaves it alone unless more is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.conversation.session import Session
from clew.edit.relink import pin_leaf, remove_entries
from clew.edit.summary.age_levels import Band, levels
from clew.edit.summary.compact_boundary import MARK, ResumeContent, behind, boundary, sent, settled
from clew.edit.summary.compress_turn import CompressTurn, Tools, answered, job, reworded
from clew.edit.summary.sentence_extract import shortened
from clew.edit.summary.summariser import Summarise, SummaryTask, TurnText, said
from clew.errors import ApiError
from clew.system.plural import plural
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import new_entry, parse_at, renumber, revise
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import Changes
from clew.wire.rename_ids import IdMapping, rename_references

KIND = "compress"  # the mark of a boundary that was made here
_TITLE = 160
_PRESERVED = ("preservedSegment", "preservedMessages")


@dataclass(frozen=True, slots=True)
class Compressed:
    """What came of it: the items, the turns that are shorter now, and those that stayed as they were because of an error."""

    items: tuple[Item, ...]
    turns: tuple[int, ...] = ()
    failed: tuple[tuple[int, ApiError], ...] = ()

    @property
    def step(self) -> str:
        left = "; ".join(f"turn {number} stays as it was: {error}" for number, error in self.failed)
        return f"compress {plural(len(self.turns), 'turn')}" + (f"; {left}" if left else "")


def compress(session: Session, bands: Sequence[Band], summarise: Summarise, tools: Tools = "drop") -> Compressed:
    """The session with its turns as close as their bands say."""
    found = sent(session)
    work = jobs(found, bands, tools)
    long = [each for each in work if each.is_long]
    results = dict(zip((each.turn.number for each in long), summarise(pieces(session, long)), strict=True))
    failed = tuple((number, result) for number, result in results.items() if isinstance(result, ApiError))
    missing = {number for number, _ in failed}
    done = [each for each in work if each.turn.number not in missing]
    if not done:
        return Compressed(session.items, failed=failed)
    texts = {each.turn.number: _shorter(each.text, results.get(each.turn.number)) for each in done}
    items = _made(session, found, done, _changed(session, done, texts, tools))
    return Compressed(items, tuple(each.turn.number for each in done), failed)


def jobs(found: ResumeContent, bands: Sequence[Band], tools: Tools) -> list[CompressTurn]:
    """The turns that would change."""
    chosen = levels(bands, len(found.turns))
    made = (job(turn, level, tools) for turn, level in zip(found.turns, chosen, strict=True))
    return [each for each in made if each is not None]


def pieces(session: Session, work: Iterable[CompressTurn]) -> list[SummaryTask]:
    """What is to be summarised: the replies of each turn, with its prompt and calls to explain them."""
    told = ((each, said(each.turn, each.turn.number, session.cwd)) for each in work)
    return [SummaryTask((TurnText(s.number, s.prompt, each.text, s.calls),), each.level.limit) for each, s in told]


def _shorter(text: str, result: str | ApiError | None) -> str:
    return result if isinstance(result, str) and len(result) < len(text) else text


def _made(
    session: Session, found: ResumeContent, done: Sequence[CompressTurn], changed: tuple[Item, ...]
) -> tuple[Item, ...]:
    """The changed items with new names for what is new, below a boundary."""
    marked = {each.carrier.uuid: each for each in done if each.carrier.uuid}
    names = IdMapping(session.id, marked)
    leaf = Session(changed, file=session.file).leaf
    wanted = names.uuid(leaf.uuid) if leaf and leaf.uuid else None
    items, mark = _bounded(session, found, _renamed(changed, names, marked), names, done[-1].carrier.uuid)
    made = Session(renumber(items), file=session.file)
    if made.title != session.title and wanted:  # the lines behind the texts are no titles of the session
        told = new_entry({"type": "summary", "summary": session.title, "leafUuid": wanted})
        made = Session(renumber((*made.items, told)), file=session.file)
    return settled(session, pin_leaf(made.items, made, wanted), mark)


# -- the replies and their calls


def _changed(
    session: Session, done: Sequence[CompressTurn], texts: Mapping[int, str], tools: Tools
) -> tuple[Item, ...]:
    """The session with the replies of some turns in other words, and without what hung on calls that go."""
    calls = _own_calls(session, done)
    carriers = {each.carrier.uuid for each in done}
    found = [reworded(each, texts[each.turn.number], calls) for each in done]
    asides = _asides(session, calls) if tools == "drop" else set()
    gone: set[int] = set()
    for entry in session.entries:
        if any(block.tool_use_id in calls for block in entry.results):
            found.append({entry.offset: answered(entry, calls, tools)})
        elif entry.uuid in asides or _is_beside(entry, calls, tools) or _tells_of(entry, carriers):
            gone.add(entry.offset)
    revised: dict[int, Entry] = {}
    for offset, made in (pair for each in found for pair in each.items()):
        if made is None:
            gone.add(offset)
        else:
            revised[offset] = made
    return remove_entries(session, gone, revised)


def _own_calls(session: Session, done: Iterable[CompressTurn]) -> set[str]:
    """The calls of some turns that no other entry makes too."""
    own = {entry.offset for each in done for entry in each.replies}
    others = (
        use.id
        for entry in session.entries
        if entry.type == "assistant" and entry.offset not in own
        for use in entry.uses
    )
    return {call for each in done for call in each.calls}.difference(others)


def _is_beside(entry: Entry, calls: Collection[str], tools: Tools) -> bool:
    """Whether a line is only about calls: a sign of life, the context that a hook gave."""
    if entry.type == "progress":
        return entry.parent_tool_use in calls
    if entry.type == "attachment" and tools == "drop" and b"toolUseID" in entry.raw:
        inside = decode(entry.attachment)
        return isinstance(inside, dict) and inside.get("toolUseID") in calls
    return False


def _tells_of(entry: Entry, carriers: Collection[str | None]) -> bool:
    """Whether a line says what one of these texts stood for before."""
    return entry.type == "summary" and entry.leaf in carriers and MARK in entry.data


def _asides(session: Session, calls: Collection[str]) -> set[str]:
    """The entries of agents inside the file whose calls go."""
    agents = (agent for agent in session.agents if agent.file is None and agent.call and agent.call.id in calls)
    return {entry.uuid for agent in agents for entry in agent.session.entries if entry.uuid}


# -- their names


def _renamed(items: Iterable[Item], names: IdMapping, marked: Mapping[str, CompressTurn]) -> list[Item]:
    """Texts that are new under new names, each with a line behind it that says what it stands for."""
    found: list[Item] = []
    for item in items:
        if not isinstance(item, Entry):
            found.append(item)
            continue
        touched = (item.uuid, item.parent, item.logical_parent, item.leaf, item.message_id, item.source_tool_assistant)
        is_touched = item.is_boundary or any(uuid in names.known for uuid in touched if uuid)
        entry = parse_at(rename_references(item, names), item.line) if is_touched else item
        found.append(entry)
        if item.uuid and item.uuid in marked and item.text.strip():
            level = marked[item.uuid].level.name
            told = {"type": "summary", "summary": shortened(item.text, _TITLE), "leafUuid": entry.uuid, MARK: level}
            found.append(new_entry(told))
    return found


# -- the boundary


def _bounded(
    session: Session, found: ResumeContent, items: Sequence[Item], names: IdMapping, last: str | None
) -> tuple[list[Item], str | None]:
    """The items with a boundary over all that is sent, and its name; that of an earlier compression is used again."""
    top = found.top
    if top is not None and top.data.get(MARK) == KIND:
        changes: Changes = {"logicalParentUuid": encode(last)}
        return [revise(i, changes) if isinstance(i, Entry) and i.uuid == top.uuid else i for i in items], top.uuid
    there = {item.uuid: item for item in items if isinstance(item, Entry) and item.uuid}
    chain = [there[uuid] for e in found.chain if e is not top and (uuid := names.uuid(e.uuid or "")) in there]
    first = chain[0] if chain else None
    early = behind([entry.time for entry in (first, *found.chain) if entry])
    made = boundary(session, first or found.chain[-1], early, last, KIND)
    if top is not None:
        made = _taking_over(made, there[top.uuid or ""])
    sent_lines = {id(entry) for entry in chain}
    at = next((index for index, item in enumerate(items) if id(item) in sent_lines), len(items))
    rest = [revise(first, {"parentUuid": encode(made.uuid)}) if first and item is first else item for item in items]
    return [*rest[:at], made, *rest[at:]], made.uuid


def _taking_over(made: Entry, top: Entry) -> Entry:
    """The boundary below an earlier one, which it takes the place of: what that preserved, it preserves."""
    told = top.data.get("compactMetadata")
    kept: dict[str, Any] = {key: told[key] for key in _PRESERVED if key in told} if isinstance(told, dict) else {}
    for each in kept.values():
        if isinstance(each, dict) and each.get("anchorUuid") == top.uuid:
            each["anchorUuid"] = made.uuid
    inner = {key: encode(value) for key, value in kept.items()}
    return revise(made, {"parentUuid": encode(top.uuid), "compactMetadata": inner})
