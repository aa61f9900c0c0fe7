"""Relations: entries that lost their name or their parent, share a name, or are their own ancestors.

Each function mends one kind of flaw and gives the items with the lines that it changed, or None if nothing is wrong.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
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

NO_WORDS = "(no content)"  # as Claude Code itself writes
LINKED = frozenset({*SPOKEN, "system", "attachment"})


class Mended(NamedTuple):
    """What a fix leaves, and the lines that it touched."""

    items: tuple[Item, ...]
    lines: tuple[int, ...]


def with_entries(session: Session, revised: Mapping[int, Entry]) -> Mended | None:
    """The items with others in the places of some."""
    if not revised:
        return None
    items = tuple(revised.get(item.line.offset, item) for item in session.items)
    return Mended(items, tuple(sorted(entry.line.number for entry in revised.values())))


def name_all(session: Session) -> Mended | None:
    """A uuid for each linked entry that has none: the one that the next line asks for, if nobody else has it."""
    chain = [e for e in session.entries if e.type in LINKED]
    known = {e.uuid for e in session.entries}
    revised: dict[int, Entry] = {}
    previous: str | None = None
    for index, entry in enumerate(chain):
        uuid = entry.uuid
        if uuid is None:
            asked = chain[index + 1].parent if index + 1 < len(chain) else None
            uuid = asked if asked and asked not in known else new_uuid(session.id, f"line {entry.line.number}")
            changes: dict[str, Any] = {"uuid": encode(uuid)}
            if not entry.parent and previous and not entry.is_boundary:
                changes["parentUuid"] = encode(previous)
            revised[entry.offset] = revise(entry, changes)
            known.add(uuid)
        previous = uuid
    return with_entries(session, revised)


def part_twins(session: Session) -> Mended | None:
    """One uuid, one entry. A copy goes, and the later one counts; a line that says something else gets a name of its own.

    What hung below the name before the second line came belongs to the first.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in session.entries:
        if entry.uuid:
            groups.setdefault(entry.uuid, []).append(entry)
    gone: dict[int, int] = {}
    revised: dict[int, Entry] = {}
    for uuid, group in groups.items():
        if len(group) == 1:
            continue
        said = list(map(_says, group))
        if len({e.parent for e in group}) == 1 and all(each == said[0] for each in said):
            gone |= {e.offset: e.line.number for e in group[1:]}
            continue
        for number, entry in enumerate(group[:-1]):
            if said[number] == said[-1]:
                gone[entry.offset] = entry.line.number
                continue
            name = new_uuid(session.id, f"{uuid} {number}")
            revised[entry.offset] = revise(revised.get(entry.offset, entry), {"uuid": encode(name)})
            for child in session.entries:
                if child.parent == uuid and entry.offset < child.offset <= group[number + 1].offset:
                    revised[child.offset] = revise(revised.get(child.offset, child), {"parentUuid": encode(name)})
    if not gone:
        return with_entries(session, revised)
    items = tuple(revised.get(i.line.offset, i) for i in session.items if i.line.offset not in gone)
    return Mended(items, tuple(sorted({*gone.values(), *(e.line.number for e in revised.values())})))


def _says(entry: Entry) -> Any:
    """What an entry says, without when, where and behind what it was written."""
    return {name: value for name, value in entry.data.items() if name not in _CIRCUMSTANCES}


_CIRCUMSTANCES = frozenset({"timestamp", "version", "cwd", "gitBranch", "sessionId", "parentUuid"})


def open_rings(session: Session) -> Mended | None:
    """Entries that are their own ancestors: the first of them in the file hangs below the line before it."""
    revised: dict[int, Entry] = {}
    rings = [problem for problem in session.graph.problems if isinstance(problem, Cycle)]
    lines = _Lines(session)
    for ring in rings:
        first = min((session.graph.nodes[u] for u in ring.uuids), key=lambda e: e.offset)
        revised[first.offset] = revise(first, {"parentUuid": encode(lines.before(first))})
    return with_entries(session, revised)


def adopt(session: Session) -> Mended | None:
    """The line before in the place of parents that are not there, or no part of a conversation.

    Entries that name the same missing parent get the same line: they were branches of one conversation.
    """
    nodes, links = session.graph.nodes, session.links
    first = next((e for e in session.entries if e.type in LINKED), None)
    lines = _Lines(session)
    revised: dict[int, Entry] = {}
    places: dict[str, str | None] = {}
    for entry in sorted(nodes.values(), key=lambda e: e.offset):
        is_linked = entry.type in LINKED
        if not entry.parent:
            if not is_linked or entry is first or entry.is_boundary or entry.is_sidechain or _is_root(entry):
                continue
        elif entry.parent in nodes and (not is_linked or links.named_parent(entry) or not links.above.get(entry.uuid)):
            continue
        if is_linked or entry.type == "progress":
            place = lines.before(entry)
            if entry.parent and entry.parent not in nodes and is_linked:
                place = places.setdefault(entry.parent, place)
            revised[entry.offset] = revise(entry, {"parentUuid": encode(place)})
    return with_entries(session, revised)


def _is_root(entry: Entry) -> bool:
    """Whether an entry says that it has no parent; an empty name or none at all says nothing."""
    return entry.parent is None and "parentUuid" in entry.data


class _Lines:
    """The linked lines of a file, to find the one before an entry that does not hang below it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._chain = [e for e in session.entries if e.type in LINKED and (session.is_agent or not e.is_sidechain)]
        self._offsets = [e.offset for e in self._chain]
        place = session.graph.position
        pairs = ((place[uuid], place.get(e.parent)) for uuid, e in session.graph.nodes.items() if e.parent)
        self._is_ordered = all(above is None or above < here for here, above in pairs)

    def before(self, entry: Entry) -> str | None:
        """An agent's entries inside a session have no such line."""
        if entry.is_sidechain and not self._session.is_agent:
            return None
        below = set() if self._is_ordered else _subtree(self._session, entry)
        at = bisect_left(self._offsets, entry.offset)
        return next((e.uuid for i in range(at - 1, -1, -1) if (e := self._chain[i]).uuid not in below), None)


def _subtree(session: Session, top: Entry) -> set[str | None]:
    children: dict[str | None, list[str]] = {}
    for uuid, entry in session.graph.nodes.items():
        children.setdefault(entry.parent, []).append(uuid)
    found: set[str | None] = {top.uuid}
    waiting = [top.uuid]
    while waiting:
        for uuid in children.get(waiting.pop(), ()):
            if uuid not in found:
                found.add(uuid)
                waiting.append(uuid)
    return found


def drop_empty(session: Session) -> Mended | None:
    """Messages that say nothing at all, which end older versions, go; a reply that is a plain string becomes a block."""
    gone = {e.offset: e.line.number for e in session.entries if _is_void(e)}
    revised: dict[int, Entry] = {}
    for entry in session.entries:
        if entry.type == "assistant" and entry.message and isinstance(entry.message.content, str):
            blocks = [{"type": "text", "text": entry.message.content}]
            revised[entry.offset] = revise(entry, {"message": {"content": encode(blocks)}})
    if not gone:
        return with_entries(session, revised)
    touched: Iterable[int] = (*gone.values(), *(e.line.number for e in revised.values()))
    return Mended(remove_entries(session, set(gone), revised), tuple(sorted(touched)))


def fill_blank(session: Session) -> Mended | None:
    """Texts of nothing but white space, which the API refuses, are removed; a prompt without a word says so."""
    found = blank_entries(session)
    gone: set[int] = set()
    revised: dict[int, Entry] = {}
    for entry in found:
        places = blank_blocks(entry)
        if len(places) < len(entry.blocks):
            revised[entry.offset] = replace_blocks(entry, dict.fromkeys(places))
        elif entry.type == "assistant":
            gone.add(entry.offset)
        else:
            revised[entry.offset] = revise(entry, {"message": {"content": encode(NO_WORDS)}})
    if not found:
        return None
    return Mended(remove_entries(session, gone, revised), tuple(sorted(entry.line.number for entry in found)))


def _is_void(entry: Entry) -> bool:
    if entry.type == "attachment":
        return bytes(entry.attachment) in (b"", b"null")
    return entry.type in SPOKEN and entry.message is None
