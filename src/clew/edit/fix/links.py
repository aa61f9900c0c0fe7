"""Repair entries that lost their uuid or parent, share a uuid, or are their own ancestors.

Each function repairs one kind of flaw and returns the items with the changed lines, or None if nothing is wrong.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from clew.conversation.entry_graph import Cycle
from clew.conversation.parent_links import SPOKEN
from clew.conversation.session import Session
from clew.edit.relink import remove_entries
from clew.facts.blank_text import blank_blocks, blank_entries
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import replace_blocks, revise
from clew.wire.json_codec import encode
from clew.wire.rename_ids import new_uuid

NO_CONTENT = "(no content)"  # as Claude Code itself writes
LINKED = frozenset({*SPOKEN, "system", "attachment"})


class Repaired(NamedTuple):
    """The items that a fix leaves, and the lines that it changed."""

    items: tuple[Item, ...]
    lines: tuple[int, ...]


def replace_entries(session: Session, revised: Mapping[int, Entry]) -> Repaired | None:
    """Return the items with some entries replaced; None if there are none to replace."""
    if not revised:
        return None
    items = tuple(revised.get(item.line.offset, item) for item in session.items)
    return Repaired(items, tuple(sorted(entry.line.number for entry in revised.values())))


def add_missing_uuids(session: Session) -> Repaired | None:
    """Give each linked entry without a uuid one: the unknown parent of the next line if it names one."""
    chain = [e for e in session.entries if e.type in LINKED]
    known = {e.uuid for e in session.entries}
    revised: dict[int, Entry] = {}
    previous: str | None = None
    for index, entry in enumerate(chain):
        uuid = entry.uuid
        if uuid is None:
            expected = chain[index + 1].parent if index + 1 < len(chain) else None
            uuid = expected if expected and expected not in known else new_uuid(session.id, f"line {entry.line.number}")
            changes: dict[str, Any] = {"uuid": encode(uuid)}
            if not entry.parent and previous and not entry.is_boundary:
                changes["parentUuid"] = encode(previous)
            revised[entry.offset] = revise(entry, changes)
            known.add(uuid)
        previous = uuid
    return replace_entries(session, revised)


def separate_duplicates(session: Session) -> Repaired | None:
    """Leave one entry for each uuid. A copy is removed, and the later one counts; a different line gets a new uuid.

    Entries below the uuid that precede the second line belong to the first.
    """
    groups: dict[str, list[Entry]] = {}
    below: dict[str, list[Entry]] = {}
    for entry in session.entries:
        if entry.uuid:
            groups.setdefault(entry.uuid, []).append(entry)
        if entry.parent:
            below.setdefault(entry.parent, []).append(entry)
    # Example: lines 3 and 9 have one uuid and different texts. Line 3 gets a new uuid, and its children in lines 4 to 9
    # follow it; children after line 9 belong to line 9.
    removed: dict[int, int] = {}
    revised: dict[int, Entry] = {}
    for uuid, group in groups.items():
        if len(group) == 1:
            continue
        contents = list(map(_content_of, group))
        if len({e.parent for e in group}) == 1 and all(content == contents[0] for content in contents):
            removed |= {e.offset: e.line.number for e in group[1:]}
            continue
        names: dict[int, str] = {}
        for number, entry in enumerate(group[:-1]):
            if contents[number] == contents[-1]:
                removed[entry.offset] = entry.line.number
                continue
            names[number] = new_uuid(session.id, f"{uuid} {number}")
            revised[entry.offset] = revise(revised.get(entry.offset, entry), {"uuid": encode(names[number])})
        offsets = [entry.offset for entry in group]
        for child in below.get(uuid, ()):
            if name := names.get(bisect_left(offsets, child.offset) - 1):
                revised[child.offset] = revise(revised.get(child.offset, child), {"parentUuid": encode(name)})
    if not removed:
        return replace_entries(session, revised)
    items = tuple(revised.get(i.line.offset, i) for i in session.items if i.line.offset not in removed)
    return Repaired(items, tuple(sorted({*removed.values(), *(e.line.number for e in revised.values())})))


def _content_of(entry: Entry) -> Any:
    """Return the content of an entry, without time, location and parent."""
    return {name: value for name, value in entry.data.items() if name not in _CIRCUMSTANCES}


_CIRCUMSTANCES = frozenset({"timestamp", "version", "cwd", "gitBranch", "sessionId", "parentUuid"})


def open_cycles(session: Session) -> Repaired | None:
    """Link the first entry of each cycle below the line before it."""
    revised: dict[int, Entry] = {}
    cycles = [problem for problem in session.graph.problems if isinstance(problem, Cycle)]
    if not cycles:
        return None
    lines = _LinkedLines(session)
    for cycle in cycles:
        first = min((session.graph.nodes[u] for u in cycle.uuids), key=lambda e: e.offset)
        revised[first.offset] = revise(first, {"parentUuid": encode(lines.before(first))})
    return replace_entries(session, revised)


def replace_missing_parents(session: Session) -> Repaired | None:
    """Replace parents that are missing, or not part of a conversation, by the line before.

    Entries that name the same missing parent get the same line: they were branches of one conversation.
    """
    nodes, links = session.graph.nodes, session.links
    first = next((e for e in session.entries if e.type in LINKED), None)
    lines: _LinkedLines | None = None
    revised: dict[int, Entry] = {}
    replacements: dict[str, str | None] = {}
    for entry in sorted(nodes.values(), key=lambda e: e.offset):
        is_linked = entry.type in LINKED
        if not entry.parent:
            if not is_linked or entry is first or entry.is_boundary or entry.is_sidechain or _is_root(entry):
                continue
        elif entry.parent in nodes and (not is_linked or links.named_parent(entry) or not links.above.get(entry.uuid)):
            continue
        if is_linked or entry.type == "progress":
            lines = lines or _LinkedLines(session)
            parent = lines.before(entry)
            if entry.parent and entry.parent not in nodes and is_linked:
                parent = replacements.setdefault(entry.parent, parent)
            revised[entry.offset] = revise(entry, {"parentUuid": encode(parent)})
    return replace_entries(session, revised)


def _is_root(entry: Entry) -> bool:
    """Return whether an entry states that it has no parent; an empty or absent field states nothing."""
    return entry.parent is None and "parentUuid" in entry.data


class _LinkedLines:
    """The linked lines of a file, to find the one before an entry that is not below it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._chain = [e for e in session.entries if e.type in LINKED and (session.is_agent or not e.is_sidechain)]
        self._offsets = [e.offset for e in self._chain]
        positions = session.graph.position
        pairs = ((positions[uuid], positions.get(e.parent)) for uuid, e in session.graph.nodes.items() if e.parent)
        self._is_ordered = all(above is None or above < position for position, above in pairs)

    def before(self, entry: Entry) -> str | None:
        """Return the uuid of the line before; None for an agent's entry inside a session."""
        if entry.is_sidechain and not self._session.is_agent:
            return None
        below = set() if self._is_ordered else self._subtree(entry)
        at = bisect_left(self._offsets, entry.offset)
        return next((e.uuid for i in range(at - 1, -1, -1) if (e := self._chain[i]).uuid not in below), None)

    def _subtree(self, top: Entry) -> set[str | None]:
        subtree: set[str | None] = {top.uuid}
        pending = [top.uuid]
        while pending:
            for uuid in self._children.get(pending.pop(), ()):
                if uuid not in subtree:
                    subtree.add(uuid)
                    pending.append(uuid)
        return subtree

    @cached_property
    def _children(self) -> dict[str | None, list[str]]:
        children: dict[str | None, list[str]] = {}
        for uuid, entry in self._session.graph.nodes.items():
            children.setdefault(entry.parent, []).append(uuid)
        return children


def drop_empty_messages(session: Session) -> Repaired | None:
    """Remove messages without content, which crash older versions; a reply that is a plain string becomes a block."""
    removed = {e.offset: e.line.number for e in session.entries if _is_empty(e)}
    revised: dict[int, Entry] = {}
    for entry in session.entries:
        if entry.type == "assistant" and entry.message and isinstance(entry.message.content, str):
            blocks = [{"type": "text", "text": entry.message.content}]
            revised[entry.offset] = revise(entry, {"message": {"content": encode(blocks)}})
    if not removed:
        return replace_entries(session, revised)
    touched: Iterable[int] = (*removed.values(), *(e.line.number for e in revised.values()))
    return Repaired(remove_entries(session, set(removed), revised), tuple(sorted(touched)))


def fill_blank_texts(session: Session) -> Repaired | None:
    """Remove texts of white space only, which the API refuses; a prompt without text becomes a placeholder."""
    blank = blank_entries(session)
    removed: set[int] = set()
    revised: dict[int, Entry] = {}
    for entry in blank:
        indexes = blank_blocks(entry)
        if len(indexes) < len(entry.blocks):
            revised[entry.offset] = replace_blocks(entry, dict.fromkeys(indexes))
        elif entry.type == "assistant":
            removed.add(entry.offset)
        else:
            revised[entry.offset] = revise(entry, {"message": {"content": encode(NO_CONTENT)}})
    if not blank:
        return None
    return Repaired(remove_entries(session, removed, revised), tuple(sorted(entry.line.number for entry in blank)))


def _is_empty(entry: Entry) -> bool:
    if entry.type == "attachment":
        return bytes(entry.attachment) in (b"", b"null")
    return entry.type in SPOKEN and entry.message is None
