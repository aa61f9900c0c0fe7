"""Link entries by their parents into a forest, and report what is wrong with the links.

Every entry that has a uuid is a node. Whatever the parents are, the result is a forest with every node: a parent
that is not in the file makes a root, a cycle is opened at its first node in file order, and of two entries with one
uuid the later represents both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from msgspec import Struct

from clew.system.plural import plural
from clew.wire.entry import Entry

N = TypeVar("N")


class Dangling(Struct, frozen=True):
    """An entry whose parent is not in the file."""

    entry: Entry
    parent: str

    def __str__(self) -> str:
        return f"line {self.entry.line.number}: the parent {self.parent[:8]} is not in the file"


class Cycle(Struct, frozen=True):
    """Entries that are their own ancestors."""

    uuids: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.summary}, from {self.uuids[0][:8]}"

    @property
    def summary(self) -> str:
        return plural(len(self.uuids), "entry is its own ancestor", "entries are their own ancestors")


class Duplicate(Struct, frozen=True):
    """Several entries with one uuid; the last of them counts."""

    uuid: str
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        return f"line {self.entries[-1].line.number}: the uuid {self.uuid[:8]} is used {len(self.entries)} times"


Problem = Dangling | Cycle | Duplicate


class Graph:
    """Nodes by uuid, in file order, with their parents, children and roots."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.nodes: dict[str, Entry] = {}
        self.position: dict[str, int] = {}
        repeated: dict[str, list[Entry]] = {}
        for index, entry in enumerate(entries):
            uuid = entry.uuid
            if uuid is None:
                continue
            if uuid in self.nodes:
                repeated.setdefault(uuid, [self.nodes[uuid]]).append(entry)
            self.nodes[uuid] = entry
            self.position.setdefault(uuid, index)
        self._repeated = repeated

    @cached_property
    def _links(self) -> tuple[dict[str, str | None], tuple[Problem, ...]]:
        """The parent of each node in the forest, and the problems found."""
        problems: list[Problem] = [Duplicate(u, tuple(e)) for u, e in self._repeated.items()]
        parents: dict[str, str | None] = {}
        for uuid, entry in self.nodes.items():
            parent = entry.parent
            if parent is not None and parent not in self.nodes:
                problems.append(Dangling(entry, parent))
                parent = None
            parents[uuid] = parent
        for cycle in find_cycles(parents):
            first = min(cycle, key=self.position.__getitem__)
            parents[first] = None
            problems.append(Cycle(tuple(cycle)))
        return parents, tuple(problems)

    @property
    def parents(self) -> dict[str, str | None]:
        return self._links[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._links[1]

    @cached_property
    def children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for uuid, parent in self.parents.items():
            if parent is not None:
                children.setdefault(parent, []).append(uuid)
        return children

    @property
    def roots(self) -> list[str]:
        return [uuid for uuid, parent in self.parents.items() if parent is None]

    @property
    def leaves(self) -> list[str]:
        return [uuid for uuid in self.nodes if uuid not in self.children]

    @property
    def forks(self) -> list[str]:
        """Nodes with more than one child. Most are parallel calls; branches of a conversation are defined by
        prompts.
        """
        return [uuid for uuid, below in self.children.items() if len(below) > 1]

    def path(self, leaf: str) -> list[Entry]:
        """Return the entries from the root to a node, by parents alone."""
        return [self.nodes[uuid] for uuid in reversed(list(self.ancestry(leaf)))]

    def ancestry(self, uuid: str | None) -> Iterator[str]:
        """Yield a node, its parent, and so on up to its root."""
        while uuid is not None:
            yield uuid
            uuid = self.parents.get(uuid)

    def segment(self, head: str | None, tail: str | None) -> list[str]:
        """Return the nodes from `head` down to `tail`; none if one of them is missing or the tail is not below the head."""
        walked: list[str] = []
        for uuid in self.ancestry(tail) if head in self.nodes and tail in self.nodes else ():
            walked.append(uuid)
            if uuid == head:
                return walked[::-1]
        return []


def find_cycles(parents: Mapping[N, N | None]) -> list[list[N]]:
    """Return the cycles of a map in which each node has at most one parent."""
    visited: set[N] = set()
    result = []
    for start, above in parents.items():
        if above is None or above in visited:  # most parents precede their children
            visited.add(start)
            continue
        walk: dict[N, None] = {}
        node: N | None = start
        while node is not None and node not in visited and node not in walk:
            walk[node] = None
            node = parents[node]
        if node is not None and node in walk:
            steps = list(walk)
            result.append(steps[steps.index(node) :])
        visited.update(walk)
    return result
