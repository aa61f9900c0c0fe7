"""Find the entries that a resume continues from, by the rules of each Claude Code version.

A file is a tree. The path runs from a root to one leaf. Results that parallel calls left off the path are inserted;
everything before the last compaction is cut off, except the messages that the compaction preserved.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from operator import is_, neg

from msgspec import Struct

from clew.conversation.cli_version import Era
from clew.conversation.parent_links import SPOKEN, Chain, answered_call, call_ids
from clew.conversation.reply_ids import reply_id
from clew.wire.entry import Entry
from clew.wire.entry_types import LastPrompt
from clew.wire.json_codec import as_text
from clew.wire.timestamps import has_usual_form, is_earlier_text

NIL = "00000000-0000-0000-0000-000000000000"
_NO_TIME = datetime.min.replace(tzinfo=UTC)


def find_leaf(links: Chain, pins: Sequence[Entry], era: Era, history: bool = False) -> Entry | None:
    """Return the entry that a resume continues from; `pins` are the last-prompt entries of the file.

    A path needs a message among the parents that the lines name; without one, the newest message that ends a branch is
    returned. A boundary voids the pins before it. A pin holds a resume
    back unless the last line of the file descends from it by the parents that the lines name: a bridge does not count. With
    `history` it does, which gives the end of the conversation as it was.
    """
    selected = _select_leaf(links, pins, era, history)
    if selected is None or not era.leaf_by_order:
        return selected
    above = links.path_to(selected, history) if history else links.ancestors(selected)
    if any(e.type in SPOKEN for e in above):
        return selected
    spoken = [e for e in links.leaf_candidates if e.type in SPOKEN]
    continued = {_message_above(links, entry) for entry in spoken}
    ends = [entry for entry in spoken if entry.uuid not in continued]
    return max(ends, key=lambda e: e.time or _NO_TIME) if ends else selected


def _message_above(links: Chain, entry: Entry) -> str | None:
    """Return the uuid of the nearest message above an entry, by the parents that the lines name."""
    return next((e.uuid for e in links.ancestors(entry) if e is not entry and e.type in SPOKEN), None)


def _select_leaf(links: Chain, pins: Sequence[Entry], era: Era, history: bool) -> Entry | None:
    candidates = links.leaf_candidates
    if not candidates:
        return None
    if not era.leaf_by_order:
        return _newest_entry([e for e in candidates if e.uuid or not era.requires_time] or candidates)
    # Example: the file ends with B, and a `last-prompt` line names A. If A is above B, the conversation continues from
    # B. If A is on another branch, the user went back to A. If the line is explicit, newer lines below A continue it.
    last = _last_line(candidates, links, era)
    boundary = max((entry.offset for entry in links.order if entry.is_boundary), default=-1)
    named = next((pin for pin in reversed(pins) if pin.leaf and pin.offset > boundary), None)
    pinned = links.nodes.get(named.leaf) if named and named.leaf != NIL else None
    if named is None or pinned is None:
        return last
    if not LastPrompt.of(named).explicit:
        above = links.path_to(last, history) if history else links.ancestors(last)
        return last if any(e.uuid == pinned.uuid for e in above) else pinned
    below = [e for e in links.below(pinned, candidates, history) if e.offset > named.offset]
    return below[-1] if below else pinned


def _last_line(candidates: Sequence[Entry], links: Chain, era: Era) -> Entry:
    """Return the last line of the file; if other lines hang below it (lines out of order), since 2.1.260 the newest of all.

    If a compaction moved preserved lines after the last line, return the last preserved line.
    """
    last = links.ends.get(candidates[-1].uuid, candidates[-1])
    if not era.continues_below_last_line or all(links.above.get(e.uuid) != last.uuid for e in candidates):
        return last
    best = last
    for entry in links.below(last, candidates):
        if entry is not last and entry.time is not None and best.time is not None and entry.time >= best.time:
            best = entry
    return best


def _newest_entry(candidates: Sequence[Entry]) -> Entry:
    """Return the entry with the newest timestamp. An entry without one is never newer, and nothing is newer than it."""
    best = candidates[0]
    newest = best.time
    if newest is None:
        return best
    # From the end, where the newest one is in most files: the times of the others need not be parsed.
    text = ""
    for entry in reversed(candidates):
        if text and is_earlier_text(entry.timestamp, text):
            continue
        time = entry.time
        if time is not None and time >= newest:
            best, newest = entry, time
            text = entry.timestamp if has_usual_form(entry.timestamp) else ""
    return best


def path_to_message(links: Chain, leaf: Entry, era: Era) -> list[Entry]:
    """Return the path to a leaf; since 2.1.120 only to the last message on it, because `complete_path` adds the rest."""
    path = links.path_to(leaf)
    if not era.appends_notes:
        return path
    last = next((e for e in links.ancestors(leaf) if e.type in SPOKEN or e.is_boundary), None)
    return path[: path.index(last) + 1] if last is not None else path


def complete_path(path: list[Entry], links: Chain, era: Era) -> list[Entry]:
    """Insert what belongs to a path but hangs beside it, and append what hangs below its last message.

    The result is kept with the links: the request of a session needs the path whose size was measured before.
    """
    known = links.completed.get(era.version)
    if known is not None and len(known[0]) == len(path) and all(map(is_, known[0], path)):
        return known[1]
    completed = _complete_path(path, links, era)
    links.completed[era.version] = path, completed
    return completed


def _complete_path(path: list[Entry], links: Chain, era: Era) -> list[Entry]:
    last = path[-1]
    if era.repairs_siblings:
        path = insert_siblings(path, links) if era.orders_siblings else insert_siblings_by_time(path, links)
    if era.keeps_notes:
        path = insert_notes(path, links)
    return _append_notes(path, links, last) if era.appends_notes else path


def _append_notes(path: list[Entry], links: Chain, last: Entry) -> list[Entry]:
    """Append the lines below the last message that are not messages: all branches of them, the older branch first."""
    # A1 (reply) ─ X (attachment) ─ Y
    #      └─ Z (attachment) ─ U (prompt)          if A1 is the last message, the path ends with A1 X Y Z
    below: dict[str | None, list[Entry]] = {}
    for uuid, entry in links.nodes.items():
        if entry.type not in SPOKEN:
            below.setdefault(links.above.get(uuid), []).append(entry)
    if last.uuid not in below:
        return path
    on_path = {entry.uuid for entry in path}
    notes: list[Entry] = []
    pending = [last]
    while pending:
        entry = pending.pop()
        if entry.uuid not in on_path:
            on_path.add(entry.uuid)
            notes.append(entry)
        oldest_first = sorted(below.pop(entry.uuid, ()), key=lambda e: as_text(e.timestamp))
        pending.extend(reversed(oldest_first))
    return [*path, *notes]


def insert_siblings(path: list[Entry], links: Chain) -> list[Entry]:
    """Insert the blocks and results that parallel calls left off the path.

    A block of a reply is inserted after the last block on the path that precedes it in the file, and all results of
    its calls after its last block, in file order. A result before its call keeps its position.
    """
    # Parallel calls are stored as a chain of blocks, and each result hangs below the block that it answers:
    #
    #   A1 (text) ─ A2 (call x) ─ A3 (call y) ─ Ry ─ next prompt       the path to the leaf
    #                   └─ Rx                                          left off it
    #
    # The result is A1 A2 A3 Rx Ry …: first the blocks of the reply, then its results in file order.
    if len(path) == len(links.nodes):
        return path
    on_path = {entry.uuid for entry in path}
    last = _reply_ends(path)
    lines, results_of = links.siblings
    found = ([e for e in lines.get(mid, ()) if e.uuid not in on_path] for mid in last if mid is not None)
    groups = sorted(filter(None, found), key=lambda group: links.ranks[group[0].uuid])
    blocks = {reply_id(group[0]): group for group in groups}
    owner = {u: reply_id(e) for e in path if e.type == "assistant" for u in call_ids(e)}
    owner |= {u: mid for mid, group in blocks.items() for e in group for u in call_ids(e)}
    answers = [(e, use) for use in owner for e in results_of.get(use, ()) if e.uuid not in on_path]
    if not blocks and not answers:
        return path
    incomplete = {owner[use] for _, use in answers if owner[use] is not None} | set(blocks)  # no id, no siblings
    for index, entry in enumerate(path):
        use = answered_call(entry) if entry.type == "user" else None
        if use is not None and index > last.get(owner.get(use), -1):
            answers.append((entry, use))
    results: dict[str | None, list[Entry]] = {}
    for entry, use in answers:
        if use in owner and owner[use] in incomplete:
            results.setdefault(owner[use], []).append(entry)
    for group in results.values():
        group.sort(key=lambda e: links.ranks[e.uuid])
    return _splice_siblings(path, incomplete, blocks, results, last, links.ranks)


def insert_siblings_by_time(path: list[Entry], links: Chain) -> list[Entry]:
    """Insert what parallel calls left off the path, as versions before 2.1.290 do.

    The last line of a reply on the path is followed by its other blocks, then by the results that hang below any of
    its lines, each sorted by time. Results on the path keep their position.
    """
    on_path = {entry.uuid for entry in path}
    last = {reply_id(entry): index for index, entry in enumerate(path) if entry.type == "assistant"}
    off_path = [entry for uuid, entry in links.nodes.items() if uuid not in on_path]
    blocks = [e for e in off_path if e.type == "assistant" and reply_id(e) is not None and reply_id(e) in last]
    reply_of = {e.uuid: reply_id(e) for e in (*path, *blocks) if e.type == "assistant" and reply_id(e) is not None}
    results = [e for e in off_path if e.type == "user" and e.results and links.above.get(e.uuid) in reply_of]
    results.sort(key=lambda e: links.ranks[links.above[e.uuid]])  # results of one time are in the order of their calls
    inserted: dict[int, list[Entry]] = {}
    for group in (blocks, results):
        for entry in sorted(group, key=lambda e: as_text(e.timestamp)):
            mid = reply_id(entry) if entry.type == "assistant" else reply_of[links.above.get(entry.uuid)]
            inserted.setdefault(last[mid], []).append(entry)
    return [e for index, entry in enumerate(path) for e in (entry, *inserted.get(index, ()))]


def _reply_ends(path: Sequence[Entry]) -> dict[str | None, int]:
    """Return the index at which each reply ends. An id that is used again after a prompt is another reply and does
    not move the end of earlier calls.
    """
    ends: dict[str | None, int] = {}
    # msg_1 (call), result, prompt, msg_1 (text): the call ends at index 0, because the text after the prompt is another
    # reply that happens to have the same id.
    calling: set[str | None] = set()  # replies with calls before the last prompt
    open_calls: set[str | None] = set()
    for index, entry in enumerate(path):
        if entry.type == "assistant":
            mid, has_calls = reply_id(entry), bool(call_ids(entry))
            if has_calls or mid not in calling:
                ends[mid] = index
            if has_calls:
                open_calls.add(mid)
        elif entry.type == "user" and not entry.results:
            calling |= open_calls
            open_calls.clear()
    return ends


def insert_notes(path: list[Entry], links: Chain) -> list[Entry]:
    """Insert the meta entries and attachments that hang off the path below a reply with calls or a result.

    Meta entries follow the results of the reply, attachments the result that precedes them in the file; several at one
    position are in file order. A line of them with anything else below it, or with two below it, is a branch and is left
    out.
    """
    on_path = {entry.uuid for entry in path}
    notes = {e.uuid: e for u, e in links.nodes.items() if u not in on_path and _is_note(e)}
    if not notes:
        return path
    # Example: the path is reply (call 1) → result 1 → reply, and an attachment hangs below result 1 without being a
    # parent of the second reply. A resume sends it after result 1.
    below: dict[str | None, list[Entry]] = {}
    for uuid, entry in links.nodes.items():
        if links.above.get(uuid) in notes or uuid in notes:
            below.setdefault(links.above.get(uuid), []).append(entry)
    owner = {use: reply_id(e) for e in path if e.type == "assistant" for use in call_ids(e)}
    replies = [reply_id(e) if e.type == "assistant" else owner.get(answered_call(e)) for e in path]
    positions: dict[str | None, list[int]] = {}
    for index, mid in enumerate(replies):
        positions.setdefault(mid, []).append(index)
    calling = set(owner.values())
    inserted: dict[int, list[Entry]] = {}
    known: dict[str | None, _ReplyLines] = {}
    for index, entry in enumerate(path):
        if entry.uuid in below and (reply_id(entry) in calling if entry.type == "assistant" else entry.results):
            mid = replies[index]
            if mid is None or mid not in known:
                known[mid] = _reply_lines(path, [index] if mid is None else positions[mid])
            for note in (n for top in below[entry.uuid] if top.uuid in notes for n in _note_chain(top, below, notes)):
                inserted.setdefault(known[mid].position_of(note), []).append(note)
    ranks = {uuid: rank for rank, uuid in enumerate(notes)}
    for group_notes in inserted.values():
        group_notes.sort(key=lambda note: ranks[note.uuid])
    return [e for i, entry in enumerate(path) for e in (entry, *inserted.get(i, ()))]


class _ReplyLines(Struct, frozen=True):
    """The lines of a reply and the results of its calls: their indexes on the path, and for each of them the smallest offset
    of a result from there on, or -1 if a line of the reply itself is among those.
    """

    indexes: Sequence[int]
    floors: Sequence[int]

    def position_of(self, note: Entry) -> int:
        """Return the index after which a note belongs: a meta entry after all of them, an attachment after the last one
        that is a line of the reply or precedes it in the file.
        """
        if note.type == "user":
            return self.indexes[-1]
        return self.indexes[max(bisect_left(self.floors, note.offset) - 1, 0)]


def _reply_lines(path: Sequence[Entry], indexes: Sequence[int]) -> _ReplyLines:
    # Example: the offsets are 100 (reply), 400, 200 (results), the floors -1, 200, 200. A note at 300 belongs after the last
    # result, one at 150 after the reply.
    offsets = [-1 if path[i].type == "assistant" else path[i].offset for i in reversed(indexes)]
    return _ReplyLines(indexes, [*accumulate(offsets, min)][::-1])


def _is_note(entry: Entry) -> bool:
    """Return whether an entry is a meta message, an attachment or a system line of the main conversation."""
    is_meta = entry.type == "user" and entry.is_meta and not entry.results
    return (is_meta or entry.type in ("attachment", "system")) and not entry.is_sidechain and not entry.is_boundary


def _note_chain(top: Entry, below: dict[str | None, list[Entry]], notes: dict[str | None, Entry]) -> list[Entry]:
    """Return an entry and the line of entries below it; an empty list if any is not a note, or the line forks."""
    chain: dict[str | None, Entry] = {}
    following = [top]
    while following:
        entry = following[0]
        if len(following) > 1 or entry.uuid not in notes or entry.uuid in chain:
            return []
        chain[entry.uuid] = entry
        following = below.get(entry.uuid, [])
    return [*chain.values()]


def _splice_siblings(
    path: list[Entry],
    incomplete: set[str | None],
    blocks: dict[str | None, list[Entry]],
    results: dict[str | None, list[Entry]],
    last: dict[str | None, int],
    ranks: dict[str | None, int],
) -> list[Entry]:
    moved = {e.uuid for group in results.values() for e in group}
    inserted = _blocks_by_position(path, blocks, ranks)
    entries: list[Entry] = []
    for index, entry in enumerate(path):
        if entry.uuid in moved:
            continue
        entries.append(entry)
        entries.extend(inserted.get(index, ()))
        mid = reply_id(entry)
        if entry.type == "assistant" and mid in incomplete and last[mid] == index:
            entries.extend(results.get(mid, ()))
    return entries


def _blocks_by_position(
    path: list[Entry], blocks: dict[str | None, list[Entry]], ranks: dict[str | None, int]
) -> dict[int, list[Entry]]:
    """Return, for each index of the path, the blocks that are inserted after it."""
    positions: dict[str | None, list[int]] = {}
    for index, entry in enumerate(path):
        if entry.type == "assistant" and reply_id(entry) in blocks:
            positions.setdefault(reply_id(entry), []).append(index)
    inserted: dict[int, list[Entry]] = {}
    for mid, group in blocks.items():
        lines = [ranks[path[i].uuid] for i in positions[mid]]
        ceilings = [*accumulate(map(neg, lines), max)]  # negative, because only ascending numbers can be bisected
        highest: dict[int, list[int]] = {}
        for block in group:
            # Example: the lines are at 5, 1, 3 of the file. A block at 4 belongs after the line at 3: from the first line
            # that precedes it (1) up to the last one before a line that does not. One at 0 belongs after the first line.
            rank = ranks[block.uuid]
            first = bisect_right(ceilings, -rank)
            if first not in highest:
                highest[first] = [*accumulate(lines[first:], max)]
            run = bisect_left(highest[first], rank)
            index = first + run - 1 if run else 0
            inserted.setdefault(positions[mid][index], []).append(block)
    return inserted


def after_compaction(path: list[Entry]) -> list[Entry]:
    """Return the path from its last compaction boundary on."""
    at = max((i for i, entry in enumerate(path) if entry.is_boundary), default=0)
    return path[at:]
