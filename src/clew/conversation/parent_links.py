"""The chain: the entries that can be on a path, linked as one era links them.

A line that cannot be part of a conversation (a sign of progress, a message without content) is replaced by its own parent
while the file is read. A parent that is missing, of an unknown type or part of a cycle is bridged by time: the entry hangs
below the newest one that is not later than itself and at most five seconds older. Without such an entry the path ends.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property

from clew.conversation.cli_version import Era
from clew.wire.entry import Entry
from clew.wire.json_codec import as_text

SPOKEN = ("user", "assistant")
BRIDGED = 5_000  # milliseconds between an entry with a missing parent and the one that takes the parent's place

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_NOTHING_SEEN: Collection[str | None] = frozenset()


@dataclass(frozen=True)
class Chain:
    """The entries by uuid, and for each the parent that it names: `above` has None for a root."""

    nodes: dict[str | None, Entry]
    above: dict[str | None, str | None]
    before: dict[str | None, str | None]
    order: tuple[Entry, ...]
    era: Era
    agent: bool = False
    ends: Mapping[str | None, Entry] = field(default_factory=dict)  # the last of the lines put behind an anchor

    def named(self, entry: Entry) -> Entry | None:
        """The parent that an entry names, if it is there."""
        above = self._above(entry)
        return self.nodes.get(above) if above is not None and above != entry.uuid else None

    def parent(self, entry: Entry, history: bool = False, seen: Collection[str | None] = _NOTHING_SEEN) -> Entry | None:
        """The entry above, among those not `seen` yet: the parent, or what takes the place of one that is missing.

        With `history` neither a compaction nor a missing parent ends the line: it continues with what was compacted, or
        with the line before.
        """
        above = self._above(entry)
        if above is None and history and entry.is_boundary:
            above = entry.logical_parent or self.before.get(entry.uuid)
        if above is None:
            return None
        found = self.nodes.get(above) if above != entry.uuid else None
        if found is not None and found.uuid not in seen:
            return found
        if not self.era.bridges_gaps:
            return None
        return self._bridge(entry, seen) or (self._line_before(entry, seen) if history else None)

    def is_cut(self, entry: Entry) -> bool:
        """Whether a path ends at this entry although it names a parent."""
        return self._above(entry) is not None and self.parent(entry) is None

    def up(self, leaf: Entry, history: bool = False) -> list[Entry]:
        """The path to a leaf, root first."""
        found: list[Entry] = []
        seen: set[str | None] = set()
        entry: Entry | None = leaf
        while entry is not None:
            seen.add(entry.uuid)
            found.append(entry)
            entry = self.parent(entry, history, seen)
        found.reverse()
        return found

    def ancestors(self, entry: Entry) -> Iterator[Entry]:
        """An entry and those above it by the parents that they name, without bridges."""
        seen: set[str | None] = set()
        here: Entry | None = entry
        while here is not None and here.uuid not in seen:
            seen.add(here.uuid)
            yield here
            here = self.named(here)

    def below(self, top: Entry, candidates: Sequence[Entry], history: bool = False) -> list[Entry]:
        """The entries among the candidates that hang below another, itself included; bridges count with `history`."""
        hangs: dict[str | None, bool] = {top.uuid: True}
        for entry in candidates:
            walked: list[str | None] = []
            step: Entry | None = entry
            while step is not None and step.uuid not in hangs:
                hangs[step.uuid] = False
                walked.append(step.uuid)
                step = self.parent(step, history) if history else self.named(step)
            if step is not None and hangs[step.uuid]:
                hangs.update(dict.fromkeys(walked, True))
        return [entry for entry in candidates if hangs[entry.uuid]]

    def _above(self, entry: Entry) -> str | None:
        return self.above.get(entry.uuid, entry.parent or None)

    def _bridge(self, entry: Entry, seen: Collection[str | None]) -> Entry | None:
        """The newest entry that is not later and at most five seconds older; of several at one time the first line."""
        at = _milliseconds(entry)
        if at is None:
            return None
        times, lines = self._timeline[entry.is_sidechain and self.era.parts_agents]
        best: Entry | None = None
        for index in range(bisect_right(times, at) - 1, -1, -1):
            if at - times[index] > BRIDGED or (best is not None and times[index] != times[index + 1]):
                break
            other = lines[index]
            if other.uuid != entry.uuid and other.uuid not in seen:
                best = other
        return best

    @cached_property
    def _timeline(self) -> dict[bool, tuple[list[int], list[Entry]]]:
        """The times in milliseconds and their entries, in order; those of agents apart where the era keeps them apart."""
        dated = [(at, entry) for entry in self.nodes.values() if (at := _milliseconds(entry)) is not None]
        dated.sort(key=lambda pair: pair[0])
        found: dict[bool, tuple[list[int], list[Entry]]] = {False: ([], []), True: ([], [])}
        for at, entry in dated:
            times, lines = found[entry.is_sidechain and self.era.parts_agents]
            times.append(at)
            lines.append(entry)
        return found

    def _line_before(self, entry: Entry, seen: Collection[str | None]) -> Entry | None:
        if entry.is_sidechain and not self.agent:
            return None
        passed: set[str | None] = {entry.uuid}
        above = self.before.get(entry.uuid)
        while above in seen and above not in passed:
            passed.add(above)
            above = self.before.get(above)
        return self.nodes[above] if above is not None and above not in passed else None


def chain(entries: Iterable[Entry], era: Era, agent: bool = False) -> Chain:
    """Link entries as an era does. In an agent's own file (`agent`) sidechain entries are the conversation."""
    nodes: dict[str | None, Entry] = {}
    above: dict[str | None, str | None] = {}
    before: dict[str | None, str | None] = {}
    passed: dict[str, str | None] = {}
    order: list[Entry] = []
    previous: str | None = None
    types, bridges = era.chain_types, era.bridges_gaps
    for entry in entries:
        kind, uuid = entry.type, entry.uuid
        is_node = kind in types and (kind not in SPOKEN or _has_content(entry, era))
        if not is_node and (not bridges or uuid is None or (kind not in types and kind != "progress")):
            continue
        parent = entry.parent if entry.parent else _odd_parent(entry)
        if parent is not None and parent in passed:
            parent = passed[parent]
        if not is_node:
            passed[uuid or ""] = parent
            continue
        if order:
            before.setdefault(uuid, previous)
        nodes[uuid] = entry
        above[uuid] = parent
        order.append(entry)
        if agent or not entry.is_sidechain:
            previous = uuid
    return Chain(nodes, above, before, tuple(order), era, agent)


def _has_content(entry: Entry, era: Era) -> bool:
    return not era.survives_bad_entries or has_content(entry)


def has_content(entry: Entry) -> bool:
    """Whether an entry holds a message with content; an empty list is one."""
    return entry.message is not None and isinstance(entry.message.content, str | list)


def _odd_parent(entry: Entry) -> str | None:
    """A parent that is no text names no entry; only one that is empty makes a root."""
    if entry.parent is not None or b'"parentUuid":null' in entry.raw or b'"parentUuid"' not in entry.raw:
        return None
    value = entry.data.get("parentUuid")
    return f"({as_text(value)})" if value else None


def _milliseconds(entry: Entry) -> int | None:
    time = entry.time
    return (time - _EPOCH) // _MILLISECOND if time is not None else None
