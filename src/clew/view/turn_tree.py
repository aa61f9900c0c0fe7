"""The shape of a session: the tree of its turns as a flat list of rows, with what happened in each, and no markup.

Every turn stands on a lane. The active branch is the lane that goes on; a branch that was left begins a lane of its own
where it forks off, and is told to its end before the other goes on. What happened in a turn hangs below it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import Any

from clew.conversation.active_path import NIL
from clew.conversation.agent_sessions import Agent
from clew.conversation.cli_version import version_key
from clew.conversation.entry_graph import Cycle, Dangling
from clew.conversation.replies import Call, Reply
from clew.conversation.session import CompactionPoint, Session
from clew.conversation.speaker import prompt_text
from clew.conversation.turns import Turn
from clew.facts.searchable_text import words
from clew.facts.tool_catalog import label
from clew.system.plural import plural
from clew.wire.entry import Entry
from clew.wire.entry_types import LastPrompt, QueueOperation

_STUBS = ((2, 1, 9), (2, 1, 56))  # versions that wrote a stub where the output tokens should stand
_LAST = 1 << 60  # behind every line


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One line of the picture: a turn, a compaction, agent, queued prompt, pin, problem, or a call still waiting.

    `rails` says for each lane up to the row's own whether it goes on below. `twigs` is for what hangs below a turn: at each
    level, whether another follows; a row without them stands on its lane. `line` is the number of a line in the file.
    """

    kind: str
    text: str = ""
    rails: tuple[bool, ...] = ()
    twigs: tuple[bool, ...] = ()
    begins: bool = False
    is_active: bool = False
    number: int | None = None
    branch: int | None = None
    time: datetime | None = None
    line: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """Something that happened, at a line; `below` is what happened in it."""

    at: int
    row: TreeRow
    below: tuple[TurnEvent, ...] = ()


Found = Iterator[tuple[int | None, TurnEvent]]  # a mark and the turn it belongs to; None for before the first


class TurnTree:
    """The prompts of a session by their offsets, each below the one it was asked after."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.prompts: dict[int, Entry] = {}
        self.parent: dict[int, int | None] = {}
        self.number: dict[int, int] = {}
        self.active = {turn.prompt.offset for turn in session.turns}
        self.ends = {branch.last.offset: branch.number for branch in session.branches}
        lines = [branch.prompts for branch in session.branches]
        for line in lines or [tuple(turn.prompt for turn in session.turns)]:
            self._place(line)
        placed = {entry.uuid for entry in self.prompts.values() if entry.uuid}
        for prompt in session.prompts:
            if prompt.uuid not in placed:
                self._place([prompt])

    def _place(self, line: Iterable[Entry]) -> None:
        above: int | None = None
        for prompt in line:
            if prompt.offset not in self.parent:
                self.parent[prompt.offset] = above
                self.prompts[prompt.offset] = prompt
                self.number[prompt.offset] = 1 if above is None else self.number[above] + 1
            above = prompt.offset

    @cached_property
    def children(self) -> dict[int | None, list[int]]:
        found: dict[int | None, list[int]] = {}
        for prompt, above in sorted(self.parent.items()):
            found.setdefault(above, []).append(prompt)
        return found

    @cached_property
    def main(self) -> dict[int, int | None]:
        """Below each prompt the one that its lane goes on with: the active one, else the one that was talked on last."""
        newest: dict[int, int] = {}
        found: dict[int, int | None] = {}
        for prompt in reversed(self.parent):
            below = self.children.get(prompt, [])
            newest[prompt] = max([prompt, *(newest[child] for child in below)])
            on = [child for child in below if child in self.active]
            if not on and prompt not in self.active:
                on = sorted(below, key=newest.__getitem__)[-1:]
            found[prompt] = on[0] if on else None
        return found

    @cached_property
    def branch(self) -> dict[int | None, int | None]:
        """The number of the branch whose lane a prompt stands on."""
        found: dict[int | None, int | None] = {}
        for prompt in reversed(self.parent):
            found[prompt] = found.get(self.main[prompt]) or self.ends.get(prompt)
        return found

    @cached_property
    def owners(self) -> dict[int, int]:
        """For each entry of the conversation the prompt that it came of."""
        links = self.session.links
        known: dict[int, int | None] = {offset: offset for offset in self.prompts}
        for entry in links.order:
            walked: dict[int, None] = {}
            here: Entry | None = entry
            while here is not None and here.offset not in known and here.offset not in walked:
                walked[here.offset] = None
                here = links.parent(here, history=True)
            known.update(dict.fromkeys(walked, known.get(here.offset) if here else None))
        return {offset: owner for offset, owner in known.items() if owner is not None}

    @cached_property
    def _spots(self) -> list[tuple[int, int]]:
        order = self.session.links.order
        return sorted((e.line.number, self.owners[e.offset]) for e in order if e.offset in self.owners)

    def at(self, line: int) -> int | None:
        """The turn that was being written at a line."""
        index = bisect_right(self._spots, (line, _LAST))
        return self._spots[index - 1][1] if index else None

    def of(self, entry: Entry) -> int | None:
        found = self.owners.get(entry.offset)
        return found if found is not None else self.at(entry.line.number)

    def has(self, entry: Entry) -> bool:
        """Whether an entry is part of a turn: those of agents inside the file are not."""
        return entry.offset in self.owners and entry.is_sidechain == self.session.is_agent


def shape(session: Session) -> tuple[TreeRow, ...]:
    """The whole session, every branch of it."""
    tree = TurnTree(session)
    marks: dict[int | None, list[TurnEvent]] = {}
    for find in (_compactions, _agents, _queued, _pins, _problems):
        for owner, mark in find(tree):
            marks.setdefault(owner, []).append(mark)
    found = {owner: sorted(below, key=attrgetter("at")) for owner, below in marks.items()}
    return (*_hanging(found.get(None, ()), ()), *_lanes(tree, found))


def totals(rows: Sequence[TreeRow]) -> dict[str, int]:
    """How much of everything there is."""
    kinds = [row.kind for row in rows]
    names = {"turn": "turns", "agent": "agents", "compaction": "compactions", "problem": "problems"}
    found = {name: kinds.count(kind) for kind, name in names.items()}
    return found | {"branches": sum(row.kind == "turn" and row.facts["is_end"] for row in rows)}


# -- the lanes


def _lanes(tree: TurnTree, marks: dict[int | None, list[TurnEvent]]) -> Iterator[TreeRow]:
    roots = sorted(tree.children.get(None, []), key=lambda root: (root in tree.active, root))
    todo: list[tuple[int, tuple[bool, ...], bool]] = [(root, (), True) for root in reversed(roots)]
    turns = _turns(tree)
    while todo:
        prompt, outer, begins = todo.pop()
        main = tree.main[prompt]
        sides = [child for child in tree.children.get(prompt, []) if child != main]
        turn = replace(turns[prompt], rails=(*outer, main is not None or bool(sides)), begins=begins)
        yield from _group(turn, marks.get(prompt, ()))
        if main is not None:
            todo.append((main, outer, False))
        for index, side in reversed(list(enumerate(sides))):
            todo.append((side, (*outer, main is not None or index < len(sides) - 1), True))


def _group(turn: TreeRow, marks: Sequence[TurnEvent]) -> Iterator[TreeRow]:
    """A turn and what hangs below it; a compaction stands on the lane itself and parts what was before from after."""
    cuts = [i for i, mark in enumerate(marks) if mark.row.kind == "compaction"]
    *outer, on = turn.rails
    yield replace(turn, rails=(*outer, on or bool(cuts)))
    start = 0
    for cut in cuts:
        yield from _hanging(marks[start:cut], (*outer, True))
        yield replace(marks[cut].row, rails=(*outer, on or cut != cuts[-1]), branch=turn.branch)
        start = cut + 1
    yield from _hanging(marks[start:], turn.rails)


def _hanging(marks: Sequence[TurnEvent], rails: tuple[bool, ...], above: tuple[bool, ...] = ()) -> Iterator[TreeRow]:
    for index, mark in enumerate(marks):
        twigs = (*above, index < len(marks) - 1)
        yield replace(mark.row, rails=rails, twigs=twigs)
        yield from _hanging(mark.below, rails, twigs)


# -- the turns


def _turns(tree: TurnTree) -> dict[int, TreeRow]:
    own = {offset: [prompt] for offset, prompt in tree.prompts.items()}
    for entry in tree.session.links.order:
        if tree.has(entry) and entry.offset not in own:
            own[tree.owners[entry.offset]].append(entry)
    return {prompt: _turn(tree, Turn(number, tuple(own[prompt]))) for prompt, number in tree.number.items()}


def _turn(tree: TurnTree, turn: Turn) -> TreeRow:
    prompt = turn.prompt.offset
    above = tree.parent[prompt]
    back = (tree.number[above] if above is not None else 0) if prompt != tree.children[above][0] else None
    facts = {
        **_work(turn.replies, turn.calls),
        "seconds": turn.seconds,
        "prompt": turn.kind,
        "images": len(turn.images),
        "uuid": turn.prompt.uuid,
        "rewound_to": back,
        "forks": len(tree.children.get(prompt, ())) - (tree.main[prompt] is not None),
        "is_end": prompt in tree.ends,
    }
    row = TreeRow("turn", turn.text, time=turn.time, line=turn.prompt.line.number, facts=facts)
    return replace(row, is_active=prompt in tree.active, number=turn.number, branch=tree.branch[prompt])


def _work(replies: Iterable[Reply], calls: Sequence[Call]) -> dict[str, Any]:
    real = [reply for reply in replies if not reply.is_synthetic]
    versions = [version_key(reply.entries[0].version or "") for reply in real]
    spent = [reply.tokens.output_tokens or 0 for reply in real if reply.tokens]
    return {
        "replies": len(real),
        "calls": len(calls),
        "failures": sum(call.failed for call in calls),
        "output_tokens": None if any(_STUBS[0] <= version <= _STUBS[1] for version in versions) else sum(spent),
    }


# -- what happened in them


def _mark(kind: str, line: int, text: str = "", time: datetime | None = None, **facts: Any) -> TurnEvent:
    return TurnEvent(line, TreeRow(kind, text, time=time, line=line, facts=facts))


def _compactions(tree: TurnTree) -> Found:
    active = {entry.offset for entry in tree.session.active}
    for made in tree.session.compactions:
        mark = _compaction(made)
        yield tree.of(made.boundary), replace(mark, row=replace(mark.row, is_active=made.boundary.offset in active))


def _compaction(made: CompactionPoint) -> TurnEvent:
    size = len(made.summary.text.split()) if made.summary else None
    facts = {"trigger": made.detail.cause, "before": made.detail.pre_tokens, "after": made.detail.post_tokens}
    boundary = made.boundary
    return _mark("compaction", boundary.line.number, "", boundary.time, uuid=boundary.uuid, summary_words=size, **facts)


def _agents(tree: TurnTree) -> Found:
    agents = tree.session.agents
    ids = {agent.id for agent in agents}
    below: dict[str | None, list[Agent]] = {}
    for agent in agents:
        below.setdefault(agent.parent if agent.parent in ids - {agent.id} else None, []).append(agent)
    told: set[str] = set()
    for agent in (*below.get(None, ()), *agents):
        if agent.id not in told:
            yield _turn_of(tree, agent), _agent(tree, agent, below, told)


def _agent(tree: TurnTree, agent: Agent, below: dict[str | None, list[Agent]], told: set[str]) -> TurnEvent:
    told.add(agent.id)
    session = agent.session
    took = agent.totals.get("totalDurationMs")
    lasted = (session.ended - session.started).total_seconds() if session.started and session.ended else None
    facts = {
        "id": agent.id,
        "type": agent.kind,
        "model": agent.model,
        "status": agent.totals.get("status"),
        **_work(session.replies, session.calls),
        "seconds": took / 1000 if isinstance(took, int | float) else lasted,
    }
    inside = [_agent(tree, inner, below, told) for inner in below.get(agent.id, ()) if inner.id not in told]
    inside += map(_compaction, session.compactions)
    if agent.file is not None:  # an agent inside the session's own file shares its problems
        inside += [
            mark for mark in _problems_of(session) if mark.row.facts.get("parent") not in tree.session.graph.nodes
        ]
    inside += [_unanswered(call, session.cwd, "problem") for call in session.pairing.open]
    first = next((prompt_text(e) for e in session.entries if e.type == "user"), "")
    row = TreeRow("agent", agent.description or first or agent.id, time=session.started, facts=facts)
    at = agent.call.entry.line.number if agent.call else _LAST
    return TurnEvent(at, row, tuple(sorted(inside, key=attrgetter("at"))))


def _turn_of(tree: TurnTree, agent: Agent) -> int | None:
    """The turn of an agent: that of its call, else of the entry it goes on from, else the one of its time."""
    if agent.call is not None and agent.parent is None:
        return tree.of(agent.call.entry)
    first = next((e for e in agent.session.entries if e.uuid), None)
    above = tree.session.graph.nodes.get(first.parent) if first and first.parent else None
    if above is not None:
        return tree.of(above)
    started = agent.session.started
    before = [t for t in tree.session.turns if t.time and started and t.time <= started]
    return before[-1].prompt.offset if before else None


def _queued(tree: TurnTree) -> Found:
    """Prompts that were typed while the model was busy: those that reached it in a turn, and those that never did."""
    sent = {" ".join(prompt_text(entry).split()) for entry in tree.prompts.values()}
    waiting: list[tuple[Entry, str]] = []
    for entry in tree.session.entries:
        if entry.type == "attachment" and tree.has(entry):
            for word in words(entry):
                sent.add(" ".join(word.text.split()))
                yield tree.of(entry), _mark("queued", entry.line.number, word.text, entry.time, sent=True)
        elif entry.type == "queue-operation":
            _queue(waiting, entry)
    for entry, text in waiting:
        if text.strip() and not text.lstrip().startswith("<") and " ".join(text.split()) not in sent:
            yield tree.of(entry), _mark("queued", entry.line.number, text, entry.time, sent=False)


def _queue(waiting: list[tuple[Entry, str]], entry: Entry) -> None:
    made = QueueOperation.of(entry)
    if made.operation == "enqueue":
        waiting.append((entry, made.text))
    elif made.operation == "popAll":
        waiting.clear()
    elif made.operation in ("dequeue", "remove") and waiting:
        same = (i for i, (_, text) in enumerate(waiting) if made.text and text == made.text)
        waiting.pop(next(same, 0))


def _pins(tree: TurnTree) -> Found:
    """The newest pin, if it says more than that the last line is the last."""
    pin = next((e for e in reversed(tree.session.entries) if e.type == "last-prompt" and e.leaf), None)
    if pin is None or pin.leaf == NIL:
        return
    target = tree.session.links.nodes.get(pin.leaf)
    explicit = LastPrompt.of(pin).explicit
    if target is None or explicit or tree.of(target) != tree.at(_LAST):
        number = (target or pin).line.number
        yield tree.of(target or pin), _mark("pin", number, leaf=pin.leaf, explicit=explicit, missing=target is None)


def _problems(tree: TurnTree) -> Found:
    """What is wrong; a call of the active branch's last turn is only waiting, for its result may still come."""
    for mark in _problems_of(tree.session):
        yield tree.at(mark.at), mark
    last = tree.session.turns[-1].prompt.offset if tree.session.turns else None
    for call in (c for c in tree.session.pairing.open if tree.has(c.entry)):
        owner = tree.of(call.entry)
        yield owner, _unanswered(call, tree.session.cwd, "waiting" if owner == last else "problem")


def _problems_of(session: Session) -> Iterator[TurnEvent]:
    for found in session.graph.problems:
        if isinstance(found, Dangling):
            text = f"the parent {found.parent[:8]} is not in the file"
            yield _mark("problem", found.entry.line.number, text, what="dangling", parent=found.parent)
        elif isinstance(found, Cycle):
            first = session.graph.nodes[found.uuids[0]].line.number
            yield _mark("problem", first, found.summary, what="cycle")
        else:
            text = f"the uuid {found.uuid[:8]} is used {len(found.entries)} times"
            yield _mark("problem", found.entries[-1].line.number, text, what="duplicate")
    if session.cut is not None:
        text = "a resume begins here: its parent is missing, and everything before is cut off"
        yield _mark("problem", session.cut.line.number, text, what="cut")
    for item in session.damage:
        saved = len(item.salvaged)
        rest = f", {plural(saved, 'entry')} saved from it" if saved else ""
        yield _mark("problem", item.line.number, f"damaged ({item.kind}){rest}", what="damaged")
    for entry in session.pairing.orphans:
        yield _mark("problem", entry.line.number, "a result that answers no call", what="orphan")


def _unanswered(call: Call, cwd: str | None, kind: str) -> TurnEvent:
    return _mark(kind, call.entry.line.number, f"{label(call, cwd)} has no result", what="unanswered")
