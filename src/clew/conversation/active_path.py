"""The active path: which entries a resume would go on from, by the rule of each era.

A file is a tree. The path runs from a root to one leaf; where parallel calls left results beside it they are pulled in;
what lies before the last compaction is cut off, but for the messages that the compaction preserved.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.conversation.cli_version import Era
from clew.conversation.parent_links import SPOKEN, Chain
from clew.wire.entry import Entry
from clew.wire.entry_types import LastPrompt
from clew.wire.json_codec import as_text

NIL = "00000000-0000-0000-0000-000000000000"


def leaf(links: Chain, pins: Sequence[Entry], era: Era, history: bool = False) -> Entry | None:
    """The entry that a resume continues from; `pins` are the last-prompt entries of the file.

    A path needs a message, among the parents that the lines name. A boundary voids the pins before it. A pin holds a resume
    back unless the last line of the file descends from it by the parents that the lines name: a bridge does not count. With
    `history` it does, which gives the end of the conversation as it was.
    """
    chosen = _chosen(links, pins, era, history)
    if chosen is None or not era.leaf_by_order:
        return chosen
    above = links.up(chosen, history) if history else links.ancestors(chosen)
    if any(e.type in SPOKEN for e in above):
        return chosen
    reached = _reached(links)
    spoken = (e for e in reversed(_current(links)) if e.type in SPOKEN and e.uuid in reached)
    return next(spoken, chosen)


def _reached(links: Chain) -> set[str | None]:
    """The entries from which some path leads to an end; those of a ring lead nowhere."""
    above = {parent.uuid for entry in links.nodes.values() if (parent := links.named(entry))}
    found: set[str | None] = set()
    for uuid, entry in links.nodes.items():
        if uuid not in above:
            for step in links.ancestors(entry):
                if step.uuid in found:
                    break
                found.add(step.uuid)
    return found


def _current(links: Chain) -> list[Entry]:
    """The lines that can be a leaf: no agent's, and none that a later line of the same uuid replaced."""
    current = (entry for entry in links.order if links.nodes[entry.uuid] is entry)
    return [entry for entry in current if links.agent or not entry.is_sidechain]


def _chosen(links: Chain, pins: Sequence[Entry], era: Era, history: bool) -> Entry | None:
    candidates = _current(links)
    if not candidates:
        return None
    if not era.leaf_by_order:
        return _newest(candidates)
    last = _last(candidates, links)
    boundary = max((entry.offset for entry in links.order if entry.is_boundary), default=-1)
    named = next((pin for pin in reversed(pins) if pin.leaf and pin.offset > boundary), None)
    pinned = links.nodes.get(named.leaf) if named and named.leaf != NIL else None
    if named is None or pinned is None:
        return last
    if not LastPrompt.of(named).explicit:
        above = links.up(last, history) if history else links.ancestors(last)
        return last if any(e.uuid == pinned.uuid for e in above) else pinned
    below = [e for e in links.below(pinned, candidates, history) if e.offset > named.offset]
    return below[-1] if below else pinned


def _last(candidates: Sequence[Entry], links: Chain) -> Entry:
    """The last line of the file; if others hang below it (lines out of order), the newest of those and itself.

    Where a compaction put what it preserved behind the last line, the last preserved line takes its place.
    """
    last = links.ends.get(candidates[-1].uuid, candidates[-1])
    if all(links.above.get(e.uuid) != last.uuid for e in candidates):
        return last
    best = last
    for entry in links.below(last, candidates):
        if entry is not last and entry.time is not None and best.time is not None and entry.time >= best.time:
            best = entry
    return best


def _newest(candidates: Sequence[Entry]) -> Entry:
    """The newest timestamp wins; an entry without one is never newer, and nothing is newer than it."""
    best = candidates[0]
    for entry in candidates[1:]:
        mine, yours = entry.time, best.time
        if mine is not None and yours is not None and mine > yours:
            best = entry
    return best


def with_siblings(path: list[Entry], links: Chain) -> list[Entry]:
    """Put back what parallel calls left beside the path.

    A block of the same reply comes behind the last on the path that stands before it in the file, and all results of its
    calls behind its last block, in file order. A result before the call stays where it is.
    """
    if len(path) == len(links.nodes):
        return path
    on_path = {entry.uuid for entry in path}
    last = _last_lines(path)
    beside = [e for uuid, e in links.nodes.items() if uuid not in on_path]
    blocks: dict[str | None, list[Entry]] = {}
    for entry in beside:
        if entry.type == "assistant" and _mid(entry) is not None and _mid(entry) in last:
            blocks.setdefault(_mid(entry), []).append(entry)
    answers = [(e, use) for e in beside if e.type == "user" and (use := _answers(e)) is not None]
    if not blocks and not answers:
        return path
    owner = {u: _mid(e) for e in path if e.type == "assistant" for u in _uses(e)}
    owner |= {u: mid for mid, group in blocks.items() for e in group for u in _uses(e)}
    strays = {owner[use] for _, use in answers if owner.get(use) is not None} | set(blocks)  # no id, no siblings
    for index, entry in enumerate(path):
        use = _answers(entry) if entry.type == "user" else None
        if use is not None and index > last.get(owner.get(use), -1):
            answers.append((entry, use))
    results: dict[str | None, list[Entry]] = {}
    for entry, use in answers:
        if use in owner and owner[use] in strays:
            results.setdefault(owner[use], []).append(entry)
    ranks = {uuid: rank for rank, uuid in enumerate(links.nodes)}  # a line that comes again keeps its place
    for group in results.values():
        group.sort(key=lambda e: ranks[e.uuid])
    return _spliced(path, strays, blocks, results, last, ranks)


def with_siblings_behind(path: list[Entry], links: Chain) -> list[Entry]:
    """Put back what parallel calls left beside the path, as versions before 2.1.290 do.

    Behind the last line of a reply on the path come its other blocks, then the results that hang below any of its lines,
    each in the order of time. Results on the path keep their place.
    """
    on_path = {entry.uuid for entry in path}
    last = {_mid(entry): index for index, entry in enumerate(path) if entry.type == "assistant"}
    beside = [entry for uuid, entry in links.nodes.items() if uuid not in on_path]
    blocks = [e for e in beside if e.type == "assistant" and _mid(e) is not None and _mid(e) in last]
    reply_of = {e.uuid: _mid(e) for e in (*path, *blocks) if e.type == "assistant" and _mid(e) is not None}
    results = [e for e in beside if e.type == "user" and e.results and links.above.get(e.uuid) in reply_of]
    behind: dict[int, list[Entry]] = {}
    for group in (blocks, results):
        for entry in sorted(group, key=lambda e: as_text(e.timestamp)):
            mid = _mid(entry) if entry.type == "assistant" else reply_of[links.above.get(entry.uuid)]
            behind.setdefault(last[mid], []).append(entry)
    return [e for index, entry in enumerate(path) for e in (entry, *behind.get(index, ()))]


def _last_lines(path: Sequence[Entry]) -> dict[str | None, int]:
    """Where each reply ends. An id that comes again behind a prompt is another reply, and does not move the end of calls."""
    found: dict[str | None, int] = {}
    calling: set[str | None] = set()  # replies with calls before the last prompt
    open_calls: set[str | None] = set()
    for index, entry in enumerate(path):
        if entry.type == "assistant":
            mid = _mid(entry)
            if mid not in calling or _uses(entry):
                found[mid] = index
            if _uses(entry):
                open_calls.add(mid)
        elif entry.type == "user" and not entry.results:
            calling |= open_calls
    return found


def with_notes(path: list[Entry], links: Chain) -> list[Entry]:
    """Put back the meta entries and attachments that hang beside the path below a reply with calls or a result.

    Meta entries go behind the results of the reply, attachments behind the result that comes before them in the file. Where
    anything else hangs below such an entry, it is a branch and stays aside.
    """
    on_path = {entry.uuid for entry in path}
    notes = {e.uuid: e for u, e in links.nodes.items() if u not in on_path and _is_note(e)}
    if not notes:
        return path
    below: dict[str | None, list[Entry]] = {}
    for uuid, entry in links.nodes.items():
        if links.above.get(uuid) in notes or uuid in notes:
            below.setdefault(links.above.get(uuid), []).append(entry)
    owner = {use: _mid(e) for e in path if e.type == "assistant" for use in _uses(e)}
    replies = [_mid(e) if e.type == "assistant" else owner.get(_answers(e)) for e in path]
    places: dict[str | None, list[int]] = {}
    for index, mid in enumerate(replies):
        places.setdefault(mid, []).append(index)
    calling = set(owner.values())
    behind: dict[int, list[Entry]] = {}
    for index, entry in enumerate(path):
        if entry.uuid in below and (_mid(entry) in calling if entry.type == "assistant" else entry.results):
            group = places[replies[index]] if replies[index] is not None else [index]
            for note in (n for top in below[entry.uuid] if top.uuid in notes for n in _whole(top, below, notes)):
                behind.setdefault(_place_of_note(note, path, group), []).append(note)
    return [e for i, entry in enumerate(path) for e in (entry, *behind.get(i, ()))]


def _place_of_note(note: Entry, path: Sequence[Entry], group: Sequence[int]) -> int:
    """The place behind which a note goes, among the lines of a reply and the results of its calls."""
    if note.type == "user":
        return group[-1]
    return max((i for i in group if path[i].type == "assistant" or path[i].offset < note.offset), default=group[0])


def _is_note(entry: Entry) -> bool:
    is_meta = entry.type == "user" and entry.is_meta and not entry.results
    return (is_meta or entry.type in ("attachment", "system")) and not entry.is_sidechain and not entry.is_boundary


def _whole(top: Entry, below: dict[str | None, list[Entry]], notes: dict[str | None, Entry]) -> list[Entry]:
    """An entry and all below it; nothing if one of them is no note."""
    found: list[Entry] = []
    waiting = [top]
    while waiting:
        entry = waiting.pop()
        if entry.uuid not in notes or entry in found:
            return []
        found.append(entry)
        waiting.extend(reversed(below.get(entry.uuid, [])))
    return found


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
            rank = ranks[block.uuid]
            later = next((n for n, i in enumerate(places[mid]) if ranks[path[i].uuid] > rank), len(places[mid]))
            found.setdefault(places[mid][max(later - 1, 0)], []).append(block)
    return found


def after_compaction(path: list[Entry]) -> list[Entry]:
    """From the last boundary on."""
    at = max((i for i, entry in enumerate(path) if entry.is_boundary), default=0)
    return path[at:]
