"""List the branches of a conversation: the alternatives that end with different prompts.

Nearly every node with two children is a parallel call, not a choice of the user. So the tree is built on prompts:
each prompt is below the prompt that it followed, and every prompt without a successor ends a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from clew.conversation.entry_graph import find_cycles
from clew.conversation.parent_links import Chain
from clew.conversation.speaker import starts_turn
from clew.wire.entry import Entry


class Branch(Struct, frozen=True):
    """One path through the conversation, as its prompts; the first `shared` of them are on the active branch too."""

    number: int
    prompts: tuple[Entry, ...]
    shared: int
    is_active: bool

    @property
    def last(self) -> Entry:
        return self.prompts[-1]

    @property
    def own(self) -> tuple[Entry, ...]:
        """The prompts that are not on the active branch."""
        return self.prompts[self.shared :]


def list_branches(links: Chain, path: Sequence[Entry]) -> tuple[Branch, ...]:
    """Return all branches in the order of their last prompts; the active one contains `path`."""
    parents = _prompt_parents(links)
    followed = set(parents.values())
    active = {e.uuid: None for e in path if starts_turn(e, links.agent)}
    last = next(reversed(active), None)
    ends = [uuid for uuid in parents if uuid not in followed or (active and uuid == last)]
    # What other branches share with the active one is copied from it: with a rewind in each turn, that is most of each.
    trunk, _ = _prompts_below(last, parents, {}) if active else ([], 0)
    places = {uuid: place for place, uuid in enumerate(trunk)}
    entries = [links.nodes[uuid] for uuid in trunk]
    counts = [0, *accumulate(uuid in active for uuid in trunk)]
    result = []
    for number, end in enumerate(ends, 1):
        own, begun = _prompts_below(end, parents, places)
        shared = counts[begun] + sum(1 for uuid in own if uuid in active)
        prompts = (*entries[:begun], *(links.nodes[uuid] for uuid in own))
        result.append(Branch(number, prompts, shared, bool(active) and end == last))
    return tuple(result)


def _prompt_parents(links: Chain) -> dict[str | None, str | None]:
    """Map each prompt to the prompt before it. Every entry between prompts is visited once."""
    nearest: dict[str | None, str | None] = {}
    parents: dict[str | None, str | None] = {}
    for uuid, entry in links.nodes.items():
        if starts_turn(entry, links.agent):
            parents[uuid] = _previous_prompt(links, entry, nearest)
    order = {uuid: index for index, uuid in enumerate(parents)}
    for cycle in find_cycles(parents):
        parents[min(cycle, key=order.__getitem__)] = None
    return parents


def _previous_prompt(links: Chain, entry: Entry, cache: dict[str | None, str | None]) -> str | None:
    walked: list[str | None] = []
    visited: set[str | None] = set()
    above = links.parent(entry, history=True)
    answer: str | None = None
    while above is not None and above.uuid not in visited:
        if above.uuid in cache:
            answer = cache[above.uuid]
            break
        walked.append(above.uuid)
        visited.add(above.uuid)
        if starts_turn(above, links.agent):
            answer = above.uuid
            break
        above = links.parent(above, history=True, visited=visited)
    cache.update(dict.fromkeys(walked, answer))
    return answer


def _prompts_below(
    end: str | None, parents: dict[str | None, str | None], places: dict[str | None, int]
) -> tuple[list[str | None], int]:
    """Return the prompts up to `end` that have no place on the trunk, and how many of the trunk precede them."""
    steps: list[str | None] = []
    node = end
    while node not in places:
        steps.append(node)
        node = parents.get(node)
        if node is None:
            return steps[::-1], 0
    return steps[::-1], places[node] + 1
