"""Branches: the alternatives of a conversation that hold a prompt.

Nearly every node with two children is a parallel call and no choice of anybody's. So the tree is drawn on prompts: each
hangs below the prompt it was asked after, and every prompt that nothing follows ends a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.conversation.entry_graph import cycles
from clew.conversation.parent_links import Chain
from clew.conversation.speaker import starts_turn
from clew.wire.entry import Entry


@dataclass(frozen=True, slots=True)
class Branch:
    """A way through the conversation, by its prompts; `shared` of them are on the active branch too."""

    number: int
    prompts: tuple[Entry, ...]
    shared: int
    is_active: bool

    @property
    def last(self) -> Entry:
        return self.prompts[-1]

    @property
    def own(self) -> tuple[Entry, ...]:
        return self.prompts[self.shared :]


def branches(links: Chain, path: Sequence[Entry]) -> tuple[Branch, ...]:
    """All branches in the order of their last prompts; the active one is the one `path` is on."""
    above = _prompt_parents(links)
    followed = set(above.values())
    active = {e.uuid: None for e in path if starts_turn(e, links.agent)}
    last = next(reversed(active), None)
    ends = [uuid for uuid in above if uuid not in followed or (active and uuid == last)]
    found = []
    for number, end in enumerate(ends, 1):
        line = _line(end, above)
        shared = sum(1 for uuid in line if uuid in active)
        prompts = tuple(links.nodes[uuid] for uuid in line)
        found.append(Branch(number, prompts, shared, bool(active) and end == last))
    return tuple(found)


def _prompt_parents(links: Chain) -> dict[str | None, str | None]:
    """For each prompt the prompt before it; entries between are passed over once, whoever asks."""
    nearest: dict[str | None, str | None] = {}
    found: dict[str | None, str | None] = {}
    for uuid, entry in links.nodes.items():
        if starts_turn(entry, links.agent):
            found[uuid] = _nearest(links, entry, nearest)
    order = {uuid: index for index, uuid in enumerate(found)}
    for cycle in cycles(found):
        found[min(cycle, key=order.__getitem__)] = None
    return found


def _nearest(links: Chain, entry: Entry, known: dict[str | None, str | None]) -> str | None:
    walked: list[str | None] = []
    seen: set[str | None] = set()
    above = links.parent(entry, history=True)
    answer: str | None = None
    while above is not None and above.uuid not in seen:
        if above.uuid in known:
            answer = known[above.uuid]
            break
        walked.append(above.uuid)
        seen.add(above.uuid)
        if starts_turn(above, links.agent):
            answer = above.uuid
            break
        above = links.parent(above, history=True, seen=seen)
    known.update(dict.fromkeys(walked, answer))
    return answer


def _line(end: str | None, above: dict[str | None, str | None]) -> list[str | None]:
    steps: list[str | None] = [end]
    while (node := above.get(steps[-1])) is not None:
        steps.append(node)
    return steps[::-1]
