"""Extend a session whose file has grown, without building again what new lines cannot change.

The file is divided at a line X of the active path. What comes before is settled: its path, turns, calls and branches
are taken over from the session before. The lines from X on, mostly the last reply and the new ones, are linked and
divided by the same functions as a whole file, and both parts are joined:

    settled                        │ from X on
    … prompt ─ reply ─ result ─────┼─ X ─ result ─ reply ─ prompt ─ …

This gives what the whole file would give if the parts share no id, except that X names its parent, and if every line
after X follows from it. Lines that do not fit (a fork to before X, a late result, a compaction) are no extension: then the
session is built as a whole, and divided again when it grows further.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from clew.conversation.active_path import NIL, find_leaf, insert_siblings
from clew.conversation.branches import Branch, list_branches
from clew.conversation.cli_version import Era
from clew.conversation.parent_links import SPOKEN, Chain, link_entries, milliseconds
from clew.conversation.replies import Call, Pairing, pair_calls
from clew.conversation.reply_ids import reply_id
from clew.conversation.rounds import extend_rounds
from clew.conversation.session import Session
from clew.conversation.speaker import starts_turn
from clew.conversation.turns import Turn, number_turns, split_turns
from clew.wire.entry import Entry, Item, entries
from clew.wire.entry_types import Compaction

MARGIN = 40  # lines before the end among which no division is tried: late results and notes refer to them
_WINDOW = 8 * MARGIN  # lines that are searched for a place to divide
_ATTEMPTS = 8
_NEVER = -(1 << 62)


class Settled(Struct, frozen=True):
    """The part of a session before the line at which it is divided: the first `count` entries.

    The last of `groups`, the entries of the turns, may continue after it. `names` are all ids in these entries; the set
    grows with the session. `gap` is the newest time, in ms, of a line on the path whose parent is missing.
    """

    count: int
    names: set[str]
    gap: int
    path: tuple[Entry, ...]
    preamble: tuple[Entry, ...]
    groups: tuple[tuple[Entry, ...], ...]
    pairing: Pairing
    branches: tuple[Branch, ...]
    prompts: tuple[Entry, ...]


def extend_session(before: Session, fresh: Sequence[Item], margin: int = MARGIN) -> Session:
    """Return the session of the lines of `before` and of those that were added to its file."""
    added = tuple(entries(fresh))
    grown = Session((*before.items, *fresh), file=before.file, folder=before.own_folder)
    vars(grown)["entries"] = (*before.entries, *added)
    if "agents" in vars(before):
        grown.opened_agents = {agent.file: agent.session for agent in before.agents if agent.file}
    settled = before.settled or _settle_first(before, margin)
    if settled is None or not _join(settled, grown, before.is_agent):
        return grown
    grown.settled, grown.unchanged_turns = settled, max(0, len(settled.groups) - 1)
    grown.unchanged_entries = settled.count
    if "rounds" in vars(before):
        path = grown.active[len(settled.path) :]
        vars(grown)["rounds"] = extend_rounds(before.rounds, grown, settled.count, path)
    if len(grown.entries) - settled.count > 2 * margin:
        at = find_division(grown, margin)
        if at > settled.count:
            settled.names.update(name for entry in grown.entries[settled.count : at] for name in names_in(entry))
            grown.settled = settle(grown, at, settled.names, settled.gap)
    return grown


def turns_after(session: Session, number: int) -> tuple[Turn, ...]:
    """Return the turns after some at the beginning; of an extended session without making the others."""
    return number_turns(session.groups, session.find_round, number) if session.groups else session.turns[number:]


def _join(settled: Settled, grown: Session, is_agent: bool) -> bool:
    """Set the path, turns, calls and branches of a session that begins with `settled`; return False if that is wrong."""
    tail = _divide_tail(grown.entries[settled.count :], settled.names, settled.gap, is_agent)
    if tail is None:
        return False
    groups = [*settled.groups, *(turn.entries for turn in tail.turns)]
    if settled.groups:
        groups[len(settled.groups) - 1] += tail.first
    branches = _join_branches(settled, tail.branches)
    if branches is None:
        return False
    grown.groups = tuple(groups)
    vars(grown).update(
        is_agent=is_agent,
        leaf=tail.leaf,
        active=(*settled.path, *tail.path),
        pairing=Pairing(
            (*settled.pairing.calls, *tail.pairing.calls),
            (*settled.pairing.orphans, *tail.pairing.orphans),
        ),
        branches=branches,
    )
    return True


def session_from(session: Session, names: Container[str], gap: int, is_agent: bool) -> bool:
    """Make a session of the lines from X on what it is in the whole file: its preamble continues the turn before X.

    `names` and `gap` are those of `Settled`. Return False if that is wrong.
    """
    tail = _divide_tail(session.entries, names, gap, is_agent) if session.entries else None
    if tail is None:
        return False
    vars(session).update(
        is_agent=is_agent,
        leaf=tail.leaf,
        active=tail.path,
        divided=(tail.first, tail.turns),
        pairing=tail.pairing,
        branches=tail.branches,
    )
    return True


class _Tail(NamedTuple):
    """The lines from X on: their path, the part of it before the first prompt, the turns, calls and branches."""

    leaf: Entry
    path: tuple[Entry, ...]
    first: tuple[Entry, ...]
    turns: tuple[Turn, ...]
    pairing: Pairing
    branches: tuple[Branch, ...]


def _divide_tail(tail: Sequence[Entry], names: Container[str], gap: int, is_agent: bool) -> _Tail | None:
    chain = _link_tail(tail, names, gap, is_agent)
    if chain is None:
        return None
    leaf = find_leaf(chain, [entry for entry in tail if entry.type == "last-prompt"], Era.newest())
    if leaf is None:
        return None
    path = tuple(insert_siblings(chain.path_to(leaf, history=True), chain))
    if path[0] is not tail[0]:  # it begins at a line of an agent, which the whole file may link elsewhere
        return None
    first, turns = split_turns(path, lambda entry: starts_turn(entry, is_agent))
    return _Tail(leaf, path, first, turns, pair_calls(tail), list_branches(chain, path))


def _link_tail(tail: Sequence[Entry], settled: Container[str], gap: int, is_agent: bool) -> Chain | None:
    """Link the lines from X on, as in the whole file; None if what they say also concerns lines before X."""
    top = tail[0]
    if is_agent and any(entry.type in SPOKEN and not entry.is_sidechain for entry in tail):
        return None
    chain = link_entries(tail, Era.newest(), agent=is_agent)
    if not chain.order or chain.order[0] is not top or len(chain.order) != len(chain.nodes):
        return None
    seen = {top.uuid}
    for entry in chain.order[1:]:
        above = chain.above[entry.uuid]
        is_root_of_agent = above is None and entry.is_sidechain and not is_agent
        if entry.uuid is None or entry.is_boundary or not (above in seen or is_root_of_agent):
            return None
        seen.add(entry.uuid)
    names = [name for entry in tail for name in names_in(entry)]
    parent = top.parent or ""
    if any(name in settled and name != parent for name in names) or names.count(parent) > 1:
        return None
    if any((at := milliseconds(entry)) is not None and at <= gap for entry in chain.order):
        return None  # it might take the place of a missing parent
    chain.above[top.uuid] = None
    return chain


def _join_branches(settled: Settled, branches: Sequence[Branch]) -> tuple[Branch, ...] | None:
    """Return the branches of the whole; None if the active one now ends before X, at a prompt that was no end before."""
    continues = any(branch.is_active for branch in branches)
    ended = [branch for branch in settled.branches if not (continues and branch.is_active)]
    if settled.prompts and not continues and not any(branch.is_active for branch in ended):
        return None
    count = len(settled.prompts)
    later = (
        replace(branch, prompts=(*settled.prompts, *branch.prompts), shared=branch.shared + count)
        for branch in branches
    )
    return tuple(replace(branch, number=number) for number, branch in enumerate([*ended, *later], 1))


# -- the place to divide


def _settle_first(session: Session, margin: int) -> Settled | None:
    """Divide a session that was built as a whole."""
    at = find_division(session, margin)
    if not at:
        return None
    names = {name for entry in session.entries[:at] for name in names_in(entry)}
    return settle(session, at, names, newest_gap(session))


def find_division(session: Session, margin: int) -> int:
    """Return the index of an entry that shares no id with nearby lines before it, or 0.

    It is a prompt or the first line of a reply on the active path, and no line before it was written later.
    """
    lines, path = session.entries, session.active
    stop = len(lines) - margin
    start = max(0, stop - _WINDOW)
    attempts = 0
    for index in range(len(path) - 1, 0, -1):
        entry, before = path[index], path[index - 1]
        at = bisect_left(lines, entry.offset, key=_offset)
        if at <= start or attempts == _ATTEMPTS:
            return 0
        is_first = entry.type == "assistant" and (before.type != "assistant" or reply_id(entry) != reply_id(before))
        if at > stop or lines[at] is not entry or not (is_first or (entry.type == "user" and not entry.results)):
            continue
        attempts += 1
        above = {name for line in lines[start:at] for name in names_in(line)} - {entry.parent}
        if above.isdisjoint(name for line in lines[at:] for name in names_in(line)):
            return at
    return 0


def settle(session: Session, at: int, names: set[str], gap: int) -> Settled | None:
    """Describe what comes before an entry of the active path; None if the active branch is not its path."""
    top = session.entries[at]
    active = next((branch for branch in session.branches if branch.is_active), None)
    if active and (active.shared != len(active.prompts) or any(prompt.uuid is None for prompt in active.prompts)):
        return None
    index = len(session.active) - 1
    while session.active[index] is not top:
        index -= 1
    groups, left = list(session.groups or (turn.entries for turn in session.turns)), len(session.active) - index
    preamble = session.active[: min(index, len(session.active) - sum(map(len, groups)))]
    while groups and left >= len(groups[-1]):
        left -= len(groups.pop())
    if groups:
        groups[-1] = groups[-1][: len(groups[-1]) - left]
    calls, orphans = session.pairing.calls, session.pairing.orphans
    return Settled(
        at,
        names,
        gap,
        session.active[:index],
        preamble,
        tuple(groups),
        Pairing(
            calls[: bisect_left(calls, top.offset, key=_call_offset)],
            tuple(entry for entry in orphans if entry.offset < top.offset),
        ),
        tuple(branch for branch in session.branches if branch.last.offset < top.offset),
        tuple(prompt for prompt in active.prompts if prompt.offset < top.offset) if active else (),
    )


def newest_gap(session: Session) -> int:
    """Return the newest time of a line on the path whose parent is missing."""
    links, newest = session.links, _NEVER
    for entry in session.active:
        above = links.history_parent(entry)
        if above is not None and (above not in links.nodes or above == entry.uuid):
            newest = max(newest, milliseconds(entry) or newest)
    return newest


def names_in(entry: Entry) -> Iterator[str]:
    """Yield every id by which other lines can refer to an entry, and by which it refers to others."""
    message = entry.message
    for name in (
        entry.uuid,
        entry.parent,
        entry.logical_parent,
        entry.leaf,
        entry.request_id,
        entry.parent_tool_use,
        message.id if message else None,
    ):
        if name is not None and name != NIL:
            yield name
    if entry.type == "assistant":
        for use in entry.uses:
            yield use.id or ""
    elif entry.type == "user":
        for result in entry.results:
            yield result.tool_use_id or ""
    elif entry.is_boundary:
        yield from _preserved_names(Compaction.of(entry))


def _preserved_names(compaction: Compaction) -> Iterator[str]:
    messages, segment = compaction.messages, compaction.segment
    named = [messages.anchor, *messages.uuids] if messages else []
    named += [segment.head, segment.anchor, segment.tail] if segment else []
    yield from (name for name in named if name is not None)


def _offset(entry: Entry) -> int:
    return entry.offset


def _call_offset(call: Call) -> int:
    return call.entry.offset
