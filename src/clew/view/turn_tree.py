"""The tree of a session's turns as a flat list of rows, with the events of each turn.

Every turn is on a lane. The active branch continues its lane; an abandoned branch starts a new lane where it forks
off, and is listed to its end before the active one continues. Events are listed below their turn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from clew.conversation.active_path import NIL
from clew.conversation.agent_sessions import Agent
from clew.conversation.cli_version import version_key
from clew.conversation.replies import Call, Reply
from clew.conversation.session import CompactionPoint, Session
from clew.conversation.speaker import prompt_text
from clew.conversation.turns import Turn
from clew.facts.searchable_text import words
from clew.view.tree_problems import session_problems, unanswered_event
from clew.view.tree_row import TreeRow, TurnEvent, new_event
from clew.wire.entry import Entry
from clew.wire.entry_types import LastPrompt

_STUB_VERSIONS = ((2, 1, 9), (2, 1, 56))  # versions that wrote a placeholder instead of the output tokens
_END = 1 << 60  # after every line


OwnedEvents = Iterator[tuple[int | None, TurnEvent]]  # (turn, event); the turn is None before the first prompt


class TurnTree:
    """The prompts of a session by offset, each below the prompt that it follows."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.prompts: dict[int, Entry] = {}
        self.parent: dict[int, int | None] = {}
        self.number: dict[int, int] = {}
        self.active = {turn.prompt.offset for turn in session.turns}
        self.ends = {branch.last.offset: branch.number for branch in session.branches}
        lines = [branch.prompts for branch in session.branches]
        for line in lines or [tuple(turn.prompt for turn in session.turns)]:
            self._add_path(line)
        placed = {entry.uuid for entry in self.prompts.values() if entry.uuid}
        for prompt in session.prompts:
            if prompt.uuid not in placed:
                self._add_path([prompt])

    def _add_path(self, line: Sequence[Entry]) -> None:
        begun = next((i for i in range(len(line), 0, -1) if line[i - 1].offset in self.parent), 0)  # the rest is new
        above = line[begun - 1].offset if begun else None
        for prompt in line[begun:]:
            self.parent[prompt.offset] = above
            self.prompts[prompt.offset] = prompt
            self.number[prompt.offset] = 1 if above is None else self.number[above] + 1
            above = prompt.offset

    @cached_property
    def children(self) -> dict[int | None, list[int]]:
        children: dict[int | None, list[int]] = {}
        for prompt, above in sorted(self.parent.items()):
            children.setdefault(above, []).append(prompt)
        return children

    @cached_property
    def continuation(self) -> dict[int, int | None]:
        """The prompt that continues the lane of each prompt: the active one, else the one with the newest entry."""
        newest: dict[int, int] = {}
        continuations: dict[int, int | None] = {}
        for prompt in reversed(self.parent):
            below = self.children.get(prompt, [])
            newest[prompt] = max([prompt, *(newest[child] for child in below)])
            next_prompts = [child for child in below if child in self.active]
            if not next_prompts and prompt not in self.active:
                next_prompts = sorted(below, key=newest.__getitem__)[-1:]
            continuations[prompt] = next_prompts[0] if next_prompts else None
        return continuations

    @cached_property
    def branch(self) -> dict[int | None, int | None]:
        """The number of the branch whose lane a prompt is on."""
        numbers: dict[int | None, int | None] = {}
        for prompt in reversed(self.parent):
            numbers[prompt] = numbers.get(self.continuation[prompt]) or self.ends.get(prompt)
        return numbers

    @cached_property
    def owners(self) -> dict[int, int]:
        """The prompt that each entry of the conversation belongs to."""
        links = self.session.links
        known: dict[int, int | None] = {offset: offset for offset in self.prompts}
        for entry in links.order:
            walked: dict[int, None] = {}
            current: Entry | None = entry
            while current is not None and current.offset not in known and current.offset not in walked:
                walked[current.offset] = None
                current = links.parent(current, history=True)
            known.update(dict.fromkeys(walked, known.get(current.offset) if current else None))
        return {offset: owner for offset, owner in known.items() if owner is not None}

    @cached_property
    def _owners_by_line(self) -> list[tuple[int, int]]:
        order = self.session.links.order
        return sorted((e.line.number, self.owners[e.offset]) for e in order if e.offset in self.owners)

    def at(self, line: int) -> int | None:
        """Return the turn that was being written at a line."""
        index = bisect_right(self._owners_by_line, (line, _END))
        return self._owners_by_line[index - 1][1] if index else None

    def of(self, entry: Entry) -> int | None:
        owner = self.owners.get(entry.offset)
        return owner if owner is not None else self.at(entry.line.number)

    def has(self, entry: Entry) -> bool:
        """Return whether an entry is part of a turn; those of agents inside the file are not."""
        return entry.offset in self.owners and entry.is_sidechain == self.session.is_agent


def tree_rows(session: Session) -> tuple[TreeRow, ...]:
    """Return the rows of the complete session, with all branches."""
    tree = TurnTree(session)
    events: dict[int | None, list[TurnEvent]] = {}
    for find_events in (_find_compactions, _find_agents, _find_queued, _find_pins, _find_problems):
        for owner, event in find_events(tree):
            events.setdefault(owner, []).append(event)
    sorted_events = {owner: sorted(below, key=attrgetter("at")) for owner, below in events.items()}
    return (*_event_rows(sorted_events.get(None, ()), ()), *_lane_rows(tree, sorted_events))


def count_rows(rows: Sequence[TreeRow]) -> dict[str, int]:
    """Return the number of turns, agents, compactions, problems and branches."""
    kinds = [row.kind for row in rows]
    names = {"turn": "turns", "agent": "agents", "compaction": "compactions", "problem": "problems"}
    counts = {name: kinds.count(kind) for kind, name in names.items()}
    return counts | {"branches": sum(row.kind == "turn" and row.facts["is_end"] for row in rows)}


# -- lanes


def _lane_rows(tree: TurnTree, events: dict[int | None, list[TurnEvent]]) -> Iterator[TreeRow]:
    roots = sorted(tree.children.get(None, []), key=lambda root: (root in tree.active, root))
    todo: list[tuple[int, tuple[bool, ...], bool]] = [(root, (), True) for root in reversed(roots)]
    turns = _turn_rows(tree)
    while todo:
        prompt, outer, begins = todo.pop()
        main = tree.continuation[prompt]
        sides = [child for child in tree.children.get(prompt, []) if child != main]
        turn = replace(turns[prompt], rails=(*outer, main is not None or bool(sides)), begins=begins)
        yield from _turn_group(turn, events.get(prompt, ()))
        if main is not None:
            todo.append((main, outer, False))
        for index, side in reversed(list(enumerate(sides))):
            todo.append((side, (*outer, main is not None or index < len(sides) - 1), True))


def _turn_group(turn: TreeRow, events: Sequence[TurnEvent]) -> Iterator[TreeRow]:
    """Yield a turn and its events; a compaction is on the lane itself and separates the events before and after."""
    cuts = [i for i, event in enumerate(events) if event.row.kind == "compaction"]
    *outer, continues = turn.rails
    yield replace(turn, rails=(*outer, continues or bool(cuts)))
    start = 0
    for cut in cuts:
        yield from _event_rows(events[start:cut], (*outer, True))
        yield replace(events[cut].row, rails=(*outer, continues or cut != cuts[-1]), branch=turn.branch)
        start = cut + 1
    yield from _event_rows(events[start:], turn.rails)


def _event_rows(
    events: Sequence[TurnEvent], rails: tuple[bool, ...], above: tuple[bool, ...] = ()
) -> Iterator[TreeRow]:
    for index, event in enumerate(events):
        twigs = (*above, index < len(events) - 1)
        yield replace(event.row, rails=rails, twigs=twigs)
        yield from _event_rows(event.below, rails, twigs)


# -- turns


def _turn_rows(tree: TurnTree) -> dict[int, TreeRow]:
    entries = {offset: [prompt] for offset, prompt in tree.prompts.items()}
    for entry in tree.session.links.order:
        if tree.has(entry) and entry.offset not in entries:
            entries[tree.owners[entry.offset]].append(entry)
    return {prompt: _turn_row(tree, Turn(number, tuple(entries[prompt]))) for prompt, number in tree.number.items()}


def _turn_row(tree: TurnTree, turn: Turn) -> TreeRow:
    prompt = turn.prompt.offset
    above = tree.parent[prompt]
    rewound_to = (tree.number[above] if above is not None else 0) if prompt != tree.children[above][0] else None
    facts = {
        **_work_facts(turn.replies, turn.calls),
        "seconds": turn.seconds,
        "prompt": turn.kind,
        "images": len(turn.images),
        "uuid": turn.prompt.uuid,
        "rewound_to": rewound_to,
        "forks": len(tree.children.get(prompt, ())) - (tree.continuation[prompt] is not None),
        "is_end": prompt in tree.ends,
    }
    row = TreeRow("turn", turn.text, time=turn.time, line=turn.prompt.line.number, facts=facts)
    return replace(row, is_active=prompt in tree.active, number=turn.number, branch=tree.branch[prompt])


def _work_facts(replies: Iterable[Reply], calls: Sequence[Call]) -> dict[str, Any]:
    real = [reply for reply in replies if not reply.is_synthetic]
    versions = [version_key(reply.entries[0].version or "") for reply in real]
    spent = [reply.tokens.output_tokens or 0 for reply in real if reply.tokens]
    return {
        "replies": len(real),
        "calls": len(calls),
        "failures": sum(call.failed for call in calls),
        "output_tokens": None
        if any(_STUB_VERSIONS[0] <= version <= _STUB_VERSIONS[1] for version in versions)
        else sum(spent),
    }


# -- events


def _find_compactions(tree: TurnTree) -> OwnedEvents:
    active = {entry.offset for entry in tree.session.active}
    for compaction in tree.session.compactions:
        event = _compaction_event(compaction)
        yield (
            tree.of(compaction.boundary),
            replace(event, row=replace(event.row, is_active=compaction.boundary.offset in active)),
        )


def _compaction_event(compaction: CompactionPoint) -> TurnEvent:
    size = len(compaction.summary.text.split()) if compaction.summary else None
    facts = {
        "trigger": compaction.detail.cause,
        "before": compaction.detail.pre_tokens,
        "after": compaction.detail.post_tokens,
    }
    boundary = compaction.boundary
    return new_event(
        "compaction", boundary.line.number, "", boundary.time, uuid=boundary.uuid, summary_words=size, **facts
    )


def _find_agents(tree: TurnTree) -> OwnedEvents:
    agents = tree.session.agents
    ids = {agent.id for agent in agents}
    below: dict[str | None, list[Agent]] = {}
    for agent in agents:
        is_inner = agent.parent in ids and agent.parent != agent.id
        below.setdefault(agent.parent if is_inner else None, []).append(agent)
    listed: set[str] = set()
    for agent in (*below.get(None, ()), *agents):
        if agent.id not in listed:
            yield _turn_of_agent(tree, agent), _agent_event(tree, agent, below, listed)


def _agent_event(tree: TurnTree, agent: Agent, below: dict[str | None, list[Agent]], listed: set[str]) -> TurnEvent:
    listed.add(agent.id)
    session = agent.session
    duration_ms = agent.totals.get("totalDurationMs")
    lasted = (session.ended - session.started).total_seconds() if session.started and session.ended else None
    facts = {
        "id": agent.id,
        "type": agent.kind,
        "model": agent.model,
        "status": agent.totals.get("status"),
        **_work_facts(session.replies, session.calls),
        "seconds": duration_ms / 1000 if isinstance(duration_ms, int | float) else lasted,
    }
    inside = [_agent_event(tree, inner, below, listed) for inner in below.get(agent.id, ()) if inner.id not in listed]
    inside += map(_compaction_event, session.compactions)
    if agent.file is not None:  # an agent inside the session's file shares its problems
        inside += [
            event
            for event in session_problems(session)
            if event.row.facts.get("parent") not in tree.session.graph.nodes
        ]
    inside += [unanswered_event(call, session.cwd, "problem") for call in session.pairing.open]
    row = TreeRow("agent", agent.name, time=session.started, facts=facts)
    at = agent.call.entry.line.number if agent.call else _END
    return TurnEvent(at, row, tuple(sorted(inside, key=attrgetter("at"))))


def _turn_of_agent(tree: TurnTree, agent: Agent) -> int | None:
    """Return the turn of an agent: that of its call, else of the entry it continues, else by its start time."""
    if agent.call is not None and agent.parent is None:
        return tree.of(agent.call.entry)
    first = next((e for e in agent.session.entries if e.uuid), None)
    above = tree.session.graph.nodes.get(first.parent) if first and first.parent else None
    if above is not None:
        return tree.of(above)
    started = agent.session.started
    before = [t for t in tree.session.turns if t.time and started and t.time <= started]
    return before[-1].prompt.offset if before else None


def _find_queued(tree: TurnTree) -> OwnedEvents:
    """Yield prompts typed while the model was busy: those that reached it in a turn, and those that never did."""
    sent = {" ".join(prompt_text(entry).split()) for entry in tree.prompts.values()}
    for entry in tree.session.entries:
        if entry.type == "attachment" and tree.has(entry):
            for word in [word for word in words(entry) if word.field == "prompt"]:
                sent.add(" ".join(word.text.split()))
                yield tree.of(entry), new_event("queued", entry.line.number, word.text, entry.time, sent=True)
    for message in tree.session.queue.waiting:
        entry, text = message.entry, message.text
        # Notifications of background tasks, such as <task-notification>, are queued too but were not typed.
        if text.strip() and not text.lstrip().startswith("<") and " ".join(text.split()) not in sent:
            yield tree.of(entry), new_event("queued", entry.line.number, text, entry.time, sent=False)


def _find_pins(tree: TurnTree) -> OwnedEvents:
    """Yield the newest pin, unless it only says that the last entry is the last."""
    pin = next((e for e in reversed(tree.session.entries) if e.type == "last-prompt" and e.leaf), None)
    if pin is None or pin.leaf == NIL:
        return
    target = tree.session.links.nodes.get(pin.leaf)
    explicit = LastPrompt.of(pin).explicit
    if target is None or explicit or tree.of(target) != tree.at(_END):
        number = (target or pin).line.number
        yield tree.of(target or pin), new_event("pin", number, leaf=pin.leaf, explicit=explicit, missing=target is None)


def _find_problems(tree: TurnTree) -> OwnedEvents:
    """Yield problems; a call in the last turn of the active branch is only waiting, since its result may still come."""
    for event in session_problems(tree.session):
        yield tree.at(event.at), event
    last = tree.session.turns[-1].prompt.offset if tree.session.turns else None
    for call in (c for c in tree.session.pairing.open if tree.has(c.entry)):
        owner = tree.of(call.entry)
        yield owner, unanswered_event(call, tree.session.cwd, "waiting" if owner == last else "problem")
