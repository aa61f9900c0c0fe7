"""The active path: which entries a resume would go on from, by the rule of each era.

A file is a tree. The path runs from a root to one leaf; where parallel calls left results beside it they are pulled in;
what lies before the last compaction is cut off, but for the messages that the compaction preserved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from clew.conversation.era import Era
from clew.wire.detail import Compaction, LastPrompt, Segment
from clew.wire.entry import Entry

NIL = "00000000-0000-0000-0000-000000000000"
SPOKEN = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Chain:
    """The entries that can be on a path, as one era links them."""

    nodes: dict[str | None, Entry]
    before: dict[str | None, str | None]
    passed: dict[str, str | None]
    order: tuple[Entry, ...]
    bridges: bool
    agent: bool = False

    def parent(self, entry: Entry, history: bool = False) -> Entry | None:
        """The entry above: its parent, or what this era puts in the place of a parent that is not there.

        With `history` a compaction does not end the line: it goes on with what was compacted.
        """
        above = entry.parent or None
        if above in self.nodes and above is not None and above != entry.uuid:
            return self.nodes[above]
        if above is None and history and entry.is_boundary:
            above = entry.logical_parent or self.before.get(entry.uuid)
        if above is None:
            return None
        steps = 0
        while above in self.passed and steps <= len(self.passed):
            above, steps = self.passed[above], steps + 1
            if above is None:
                return None
        if above in self.nodes and above != entry.uuid:
            return self.nodes[above]
        is_bridged = self.bridges and (self.agent or not entry.is_sidechain)
        return self.nodes.get(self.before.get(entry.uuid)) if is_bridged else None

    def up(self, leaf: Entry, history: bool = False) -> list[Entry]:
        """The path to a leaf, root first; a cycle ends it."""
        found: list[Entry] = []
        seen: set[str | None] = set()
        entry: Entry | None = leaf
        while entry is not None and entry.uuid not in seen:
            seen.add(entry.uuid)
            found.append(entry)
            entry = self.parent(entry, history)
        found.reverse()
        return found

    def below(self, top: Entry, candidates: Sequence[Entry]) -> list[Entry]:
        """The entries among the candidates that hang below another, itself included; each is asked once."""
        hangs: dict[str | None, bool] = {top.uuid: True}
        for entry in candidates:
            walked: list[str | None] = []
            step: Entry | None = entry
            while step is not None and step.uuid not in hangs:
                hangs[step.uuid] = False
                walked.append(step.uuid)
                step = self.parent(step)
            if step is not None and hangs[step.uuid]:
                hangs.update(dict.fromkeys(walked, True))
        return [entry for entry in candidates if hangs[entry.uuid]]


def chain(entries: Iterable[Entry], era: Era, agent: bool = False) -> Chain:
    """Link entries as an era does. In an agent's own file (`agent`) sidechain entries are the conversation."""
    nodes: dict[str | None, Entry] = {}
    before: dict[str | None, str | None] = {}
    passed: dict[str, str | None] = {}
    order: list[Entry] = []
    previous: str | None = None
    types, bridges = era.chain_types, era.bridges_gaps
    for entry in entries:
        kind, uuid = entry.type, entry.uuid
        if kind in types:
            if entry.message is None and kind in SPOKEN:
                continue
            if order:
                before.setdefault(uuid, previous)
            nodes[uuid] = entry
            order.append(entry)
            if agent or not entry.is_sidechain:
                previous = uuid
        elif bridges and kind == "progress" and uuid is not None:
            passed[uuid] = entry.parent
    return Chain(nodes, before, passed, tuple(order), bridges, agent)


def leaf(links: Chain, pins: Sequence[Entry], era: Era) -> Entry | None:
    """Where a resume goes on; `pins` are the last-prompt entries of the file. A path without a message is none."""
    chosen = _chosen(links, pins, era)
    if chosen is None or not era.leaf_by_order or any(e.type in SPOKEN for e in links.up(chosen)):
        return chosen
    spoken = (e for e in reversed(_current(links)) if e.type in SPOKEN)
    return next(spoken, chosen)


def _current(links: Chain) -> list[Entry]:
    """The lines that can be a leaf: no agent's, and none that a later line of the same uuid replaced."""
    current = (entry for entry in links.order if links.nodes[entry.uuid] is entry)
    return [entry for entry in current if links.agent or not entry.is_sidechain]


def _chosen(links: Chain, pins: Sequence[Entry], era: Era) -> Entry | None:
    candidates = _current(links)
    if not candidates:
        return None
    if not era.leaf_by_order:
        return _newest(candidates)
    last = _last(candidates, links)
    named = next((pin for pin in reversed(pins) if pin.leaf), None)
    pinned = links.nodes.get(named.leaf) if named and named.leaf != NIL else None
    if named is None or pinned is None:
        return last
    if not LastPrompt.of(named).explicit:
        return last if any(e.uuid == pinned.uuid for e in links.up(last)) else pinned
    below = [e for e in links.below(pinned, candidates) if e.offset > named.offset]
    return below[-1] if below else pinned


def _last(candidates: Sequence[Entry], links: Chain) -> Entry:
    """The last line of the file; if others hang below it (lines out of order), the newest of those and itself."""
    last = candidates[-1]
    if all(e.parent != last.uuid for e in candidates):
        return last
    return _newest([last, *(e for e in links.below(last, candidates) if e is not last)])


def _newest(candidates: Sequence[Entry]) -> Entry:
    """The newest timestamp wins; an entry without one is never newer, and nothing is newer than it."""
    best = candidates[0]
    for entry in candidates[1:]:
        mine, yours = entry.time, best.time
        if mine is not None and yours is not None and mine > yours:
            best = entry
    return best


def with_siblings(path: list[Entry], links: Chain, among: set[str | None] | None = None) -> list[Entry]:
    """Put back what parallel calls left beside the path.

    A block of the same reply comes behind the last on the path that stands before it in the file, and all results of its
    calls behind its last block, in file order. With `among` only those are looked at.
    """
    if len(path) == len(links.nodes):
        return path
    on_path = {entry.uuid for entry in path}
    last = {_mid(e): i for i, e in enumerate(path) if e.type == "assistant"}
    beside = [e for uuid, e in links.nodes.items() if uuid not in on_path and (among is None or uuid in among)]
    blocks: dict[str | None, list[Entry]] = {}
    for entry in beside:
        if entry.type == "assistant" and _mid(entry) in last:
            blocks.setdefault(_mid(entry), []).append(entry)
    answers = [(e, use) for e in beside if e.type == "user" and (use := _answers(e)) is not None]
    if not blocks and not answers:
        return path
    owner = {u: _mid(e) for e in path if e.type == "assistant" for u in _uses(e)}
    owner |= {u: mid for mid, group in blocks.items() for e in group for u in _uses(e)}
    strays = {owner[use] for _, use in answers if use in owner} | set(blocks)
    answers += [(e, use) for e in path if e.type == "user" and (use := _answers(e)) is not None]
    results: dict[str | None, list[Entry]] = {}
    for entry, use in answers:
        if use in owner and owner[use] in strays:
            results.setdefault(owner[use], []).append(entry)
    for group in results.values():
        group.sort(key=lambda e: e.line.offset)
    ranks = {uuid: rank for rank, uuid in enumerate(links.nodes)}
    return _spliced(path, strays, blocks, results, last, ranks)


def _mid(entry: Entry) -> str | None:
    return reply_id(entry)


def reply_id(entry: Entry) -> str | None:
    """What makes lines one reply for the program: the message id, were it missing; but without a request too, nothing."""
    named = entry.message.id if entry.message else None
    return named if named is not None or entry.request_id is not None else f"#{entry.uuid}"


def _uses(entry: Entry) -> list[str | None]:
    content = entry.message.content if entry.message else None
    return [b.id for b in content if b.type == "tool_use"] if isinstance(content, list) else []


def _answers(entry: Entry) -> str | None:
    """The call that an entry answers: one or none."""
    content = entry.message.content if entry.message else None
    if not isinstance(content, list):
        return None
    return next((b.tool_use_id or "" for b in content if b.type == "tool_result"), None)


def _spliced(
    path: list[Entry],
    strays: set[str | None],
    blocks: dict[str | None, list[Entry]],
    results: dict[str | None, list[Entry]],
    last: dict[str | None, int],
    ranks: dict[str | None, int],
) -> list[Entry]:
    moved = {e.uuid for group in results.values() for e in group}
    behind = _anchored(path, blocks, ranks)
    found: list[Entry] = []
    for index, entry in enumerate(path):
        if entry.uuid in moved:
            continue
        found.append(entry)
        found.extend(behind.get(index, ()))
        mid = _mid(entry)
        if entry.type == "assistant" and mid in strays and last[mid] == index:
            found.extend(results.get(mid, ()))
    return found


def _anchored(
    path: list[Entry], blocks: dict[str | None, list[Entry]], ranks: dict[str | None, int]
) -> dict[int, list[Entry]]:
    """For each place of the path the blocks that belong behind it."""
    places: dict[str | None, list[int]] = {}
    for index, entry in enumerate(path):
        if entry.type == "assistant" and _mid(entry) in blocks:
            places.setdefault(_mid(entry), []).append(index)
    found: dict[int, list[Entry]] = {}
    for mid, group in blocks.items():
        for block in group:
            before = [i for i in places[mid] if ranks[path[i].uuid] < ranks[block.uuid]]
            found.setdefault(before[-1] if before else places[mid][0], []).append(block)
    return found


def after_compaction(path: list[Entry], links: Chain, era: Era) -> tuple[list[Entry], set[str | None] | None]:
    """From the last boundary on, with the messages that it preserved put behind their anchor.

    Also the entries that are left for siblings: a compaction that preserves something ends all the rest before it.
    """
    at = max((i for i, entry in enumerate(path) if entry.is_boundary), default=None)
    if at is None:
        return path, None
    rest = path[at:]
    anchor, kept = _preserved(Compaction.of(path[at]), links, era)
    places = [i for i, entry in enumerate(rest) if entry.uuid == anchor]
    if not kept or not places:
        return rest, None
    seen = {entry.uuid for entry in kept}
    tail = [e for e in rest[places[0] + 1 :] if e.uuid not in seen]
    left = seen | {uuid for uuid, e in links.nodes.items() if e.line.offset >= path[at].line.offset}
    return [*rest[: places[0] + 1], *kept, *tail], left


def _preserved(made: Compaction, links: Chain, era: Era) -> tuple[str | None, list[Entry]]:
    if made.messages and era.knows_preserved_messages:
        kept = [links.nodes[u] for u in made.messages.uuids if u in links.nodes]
        return made.messages.anchor, kept if len(kept) == len(made.messages.uuids) else []
    if made.segment and era.knows_preserved_segment:
        return made.segment.anchor, _segment(made.segment, links)
    return None, []


def _segment(made: Segment, links: Chain) -> list[Entry]:
    """The lines from the head to the tail, by their parents alone; nothing if one is missing."""
    tail = links.nodes.get(made.tail) if made.tail else None
    path = replace(links, bridges=False).up(tail) if tail else []
    heads = [index for index, entry in enumerate(path) if entry.uuid == made.head]
    return path[heads[0] :] if heads else []
