"""Link the entries that can be on a path, as one version of Claude Code links them.

A line that cannot be part of a conversation (progress, a message without content) is replaced by its own parent. A
parent that is missing, of an unknown type or part of a cycle is bridged by time: the entry is linked below the
newest entry that is not later than itself and at most five seconds older. Without such an entry the path ends.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

from msgspec import Struct, field

from clew.conversation.cli_version import Era
from clew.conversation.reply_ids import reply_id
from clew.wire.entry import Entry
from clew.wire.json_codec import as_text

SPOKEN = ("user", "assistant")
MAX_BRIDGE_MS = 5_000  # milliseconds between an entry with a missing parent and the one that takes the parent's place

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_NONE_VISITED: Collection[str | None] = frozenset()


class Chain(Struct, frozen=True, dict=True):
    """The entries by uuid, and for each the uuid of the parent that it names: `above` has None for a root."""

    nodes: dict[str | None, Entry]
    above: dict[str | None, str | None]
    before: dict[str | None, str | None]
    order: tuple[Entry, ...]
    era: Era
    agent: bool = False
    ends: Mapping[str | None, Entry] = field(default_factory=dict)  # by anchor, the last line that was moved after it

    @cached_property
    def leaf_candidates(self) -> list[Entry]:
        """The lines that can be a leaf: not an agent's, and not replaced by a later line with the same uuid."""
        current = (entry for entry in self.order if self.nodes[entry.uuid] is entry)
        return [entry for entry in current if self.agent or not entry.is_sidechain]

    @cached_property
    def completed(self) -> dict[str, tuple[list[Entry], list[Entry]]]:
        """By version, the last path that `active_path.complete_path` completed, and what it returned."""
        return {}

    @cached_property
    def ranks(self) -> dict[str | None, int]:
        """The position of each entry in the file. A line that comes again keeps that of its first occurrence."""
        return {uuid: rank for rank, uuid in enumerate(self.nodes)}

    @cached_property
    def siblings(self) -> tuple[dict[str | None, list[Entry]], dict[str | None, list[Entry]]]:
        """The lines of each reply and the results of each call, in file order and on whatever branch."""
        lines: dict[str | None, list[Entry]] = {}
        answers: dict[str | None, list[Entry]] = {}
        for entry in self.nodes.values():
            if entry.type == "assistant":
                lines.setdefault(reply_id(entry), []).append(entry)
            elif entry.type == "user" and (use := answered_call(entry)) is not None:
                answers.setdefault(use, []).append(entry)
        return lines, answers

    def named_parent(self, entry: Entry) -> Entry | None:
        """Return the parent that an entry names, if it is in the file."""
        parent = self._parent_uuid(entry)
        return self.nodes.get(parent) if parent is not None and parent != entry.uuid else None

    def parent(
        self, entry: Entry, history: bool = False, visited: Collection[str | None] = _NONE_VISITED
    ) -> Entry | None:
        """Return the entry above, unless `visited`: the parent, or the entry that replaces a missing one.

        With `history` neither a compaction nor a missing parent ends the path: it continues with what was compacted,
        or with the line before.
        """
        uuid = self.history_parent(entry) if history else self._parent_uuid(entry)
        if uuid is None:
            return None
        named = self.nodes.get(uuid) if uuid != entry.uuid else None
        if named is not None and named.uuid not in visited:
            return named
        if not self.era.bridges_gaps:
            return None
        return self._bridge_by_time(entry, visited) or (self._line_before(entry, visited) if history else None)

    def history_parent(self, entry: Entry) -> str | None:
        """Return the uuid that an entry names as its parent; of a compaction the last line that was compacted."""
        uuid = self._parent_uuid(entry)
        if uuid is None and entry.is_boundary:
            return entry.logical_parent or self.before.get(entry.uuid)
        return uuid

    def is_cut(self, entry: Entry) -> bool:
        """Return whether a path ends at this entry although it names a parent."""
        return self._parent_uuid(entry) is not None and self.parent(entry) is None

    def path_to(self, leaf: Entry, history: bool = False) -> list[Entry]:
        """Return the path to a leaf, root first."""
        path = [*self.path_from(leaf, history)]
        path.reverse()
        return path

    def path_from(self, leaf: Entry, history: bool = False) -> Iterator[Entry]:
        """Yield the path to a leaf from its end, to look only as far up as necessary."""
        visited: set[str | None] = set()
        entry: Entry | None = leaf
        while entry is not None:
            visited.add(entry.uuid)
            yield entry
            entry = self.parent(entry, history, visited)

    def ancestors(self, entry: Entry) -> Iterator[Entry]:
        """Yield an entry and those above it by the parents that they name, without bridges."""
        visited: set[str | None] = set()
        step: Entry | None = entry
        while step is not None and step.uuid not in visited:
            visited.add(step.uuid)
            yield step
            step = self.named_parent(step)

    def below(self, top: Entry, candidates: Sequence[Entry], history: bool = False) -> list[Entry]:
        """Return the candidates that hang below an entry, including itself; bridges count with `history`."""
        hangs: dict[str | None, bool] = {top.uuid: True}
        for entry in candidates:
            walked: list[str | None] = []
            step: Entry | None = entry
            while step is not None and step.uuid not in hangs:
                hangs[step.uuid] = False
                walked.append(step.uuid)
                step = self.parent(step, history) if history else self.named_parent(step)
            if step is not None and hangs[step.uuid]:
                hangs.update(dict.fromkeys(walked, True))
        return [entry for entry in candidates if hangs[entry.uuid]]

    def _parent_uuid(self, entry: Entry) -> str | None:
        return self.above.get(entry.uuid, entry.parent or None)

    def _bridge_by_time(self, entry: Entry, visited: Collection[str | None]) -> Entry | None:
        """Return the newest entry that is not later and at most five seconds older; of several at one time the first
        line.
        """
        # Times in seconds; the parent of X is missing, and X is at 10.0:
        #
        #   A 4.9   B 9.0   C 9.0   D 10.5      X is linked below B: D is later, A is more than five seconds older, and of
        #                                       B and C, which have the same time, B comes first in the file.
        #
        # So walk back from the last entry that is not later, until the time changes after a match.
        at = milliseconds(entry)
        if at is None:
            return None
        times, lines = self._timeline[entry.is_sidechain and self.era.parts_agents]
        best: Entry | None = None
        for index in range(bisect_right(times, at) - 1, -1, -1):
            if at - times[index] > MAX_BRIDGE_MS or (best is not None and times[index] != times[index + 1]):
                break
            other = lines[index]
            if other.uuid != entry.uuid and other.uuid not in visited:
                best = other
        return best

    @cached_property
    def _timeline(self) -> dict[bool, tuple[list[int], list[Entry]]]:
        """Times in milliseconds and their entries, sorted; those of agents separate where the version separates
        them.
        """
        dated = [(at, entry) for entry in self.nodes.values() if (at := milliseconds(entry)) is not None]
        dated.sort(key=lambda pair: pair[0])
        timelines: dict[bool, tuple[list[int], list[Entry]]] = {False: ([], []), True: ([], [])}
        for at, entry in dated:
            times, lines = timelines[entry.is_sidechain and self.era.parts_agents]
            times.append(at)
            lines.append(entry)
        return timelines

    def _line_before(self, entry: Entry, visited: Collection[str | None]) -> Entry | None:
        if entry.is_sidechain and not self.agent:
            return None
        passed: set[str | None] = {entry.uuid}
        uuid = self.before.get(entry.uuid)
        while uuid in visited and uuid not in passed:
            passed.add(uuid)
            uuid = self.before.get(uuid)
        return self.nodes[uuid] if uuid is not None and uuid not in passed else None


def link_entries(entries: Iterable[Entry], era: Era, agent: bool = False) -> Chain:
    """Link entries as a version does. In an agent's own file (`agent`) sidechain entries are the conversation."""
    nodes: dict[str | None, Entry] = {}
    above: dict[str | None, str | None] = {}
    before: dict[str | None, str | None] = {}
    replaced: dict[str, str | None] = {}
    order: list[Entry] = []
    previous: str | None = None
    types, bridges, skips_bad = era.chain_types, era.bridges_gaps, era.survives_bad_entries
    for entry in entries:
        kind, uuid = entry.type, entry.uuid
        is_node = kind in types and (not skips_bad or kind not in SPOKEN or has_content(entry))
        if not is_node and (not bridges or uuid is None or (kind not in types and kind != "progress")):
            continue
        # Example: a ← progress ← b. The progress line is not a node: replaced[progress] is a, and b is linked below a.
        parent = entry.parent if entry.parent else _malformed_parent(entry)
        if parent is not None and parent in replaced:
            parent = replaced[parent]
        if not is_node:
            replaced[uuid or ""] = parent
            continue
        if order:
            before.setdefault(uuid, previous)
        nodes[uuid] = entry
        above[uuid] = parent
        order.append(entry)
        if agent or not entry.is_sidechain:
            previous = uuid
    return Chain(nodes, above, before, tuple(order), era, agent)


def has_content(entry: Entry) -> bool:
    """Return whether an entry has a message with content; an empty list is content."""
    return entry.message is not None and isinstance(entry.message.content, str | list)


def call_ids(entry: Entry) -> list[str | None]:
    """Return the ids of the calls on a line of a reply."""
    content = entry.message.content if entry.message else None
    return [b.id for b in content if b.type == "tool_use"] if isinstance(content, list) else []


def answered_call(entry: Entry) -> str | None:
    """Return the id of the first call that an entry answers, or None."""
    content = entry.message.content if entry.message else None
    for block in content if isinstance(content, list) else ():
        if block.type == "tool_result":
            return block.tool_use_id or ""
    return None


def _malformed_parent(entry: Entry) -> str | None:
    """Return a name that matches no entry for a parent that is not a string; None, a root, for an empty one."""
    line = entry.line
    if entry.parent is not None or line.contains(b'"parentUuid":null') or not line.contains(b'"parentUuid"'):
        return None
    value = entry.data.get("parentUuid")
    return f"({as_text(value)})" if value else None


def milliseconds(entry: Entry) -> int | None:
    """Return the time of an entry in milliseconds since 1970."""
    time = entry.time
    return (time - _EPOCH) // _MILLISECOND if time is not None else None
