"""What each turn of a reading did and cost, for the header, the margin and the outline of the reader."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from clew.conversation.agent_sessions import AGENT_TOOLS, Agent
from clew.conversation.session import Session
from clew.conversation.speaker import speaker
from clew.conversation.turns import Turn
from clew.facts.file_changes import WRITING_TOOLS
from clew.facts.prices import Prices, dollars, load
from clew.models import window_of
from clew.report.cost_by_turn import cost_of_replies, turn_replies
from clew.system.plural import plural
from clew.view.attachments import turn_totals
from clew.web.session_cache import Reading

MAX_SIZE = 6  # steps of the bars in the outline


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The cost (in the unit of `facts.prices`), the output tokens and the events of one turn."""

    number: int
    cost: int
    output: int
    failures: int
    edits: int
    agents: int
    is_compacted: bool
    is_interrupted: bool

    @property
    def price(self) -> str:
        return dollars(self.cost) if self.cost else ""

    @property
    def marks(self) -> list[tuple[str, str, str]]:
        """The class, the sign and the words of each event."""
        counts = (("bad", "✗", self.failures, "failure"), ("edit", "✎", self.edits, "edit"))
        marks = [(kind, f"{sign}{count}", plural(count, name)) for kind, sign, count, name in counts if count]
        marks += [("agent", f"↺{self.agents}", plural(self.agents, "agent"))] if self.agents else []
        marks += [("coil", "≋", "compacted")] if self.is_compacted else []
        return marks + ([("cut", "⌿", "interrupted")] if self.is_interrupted else [])


@dataclass(frozen=True, slots=True)
class TurnStep:
    """A turn on the way to the totals: its facts, its context, the replies that it is the first to have, its agents."""

    facts: TurnFacts
    context: int
    replies: frozenset[str]
    agent_calls: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReadingFacts:
    """The turns by number, and the totals of the branch that is shown."""

    steps: tuple[TurnStep, ...]
    agents: tuple[Agent, ...]
    turns: dict[int, TurnFacts]
    cost: int
    output: int
    context: int
    window: int

    @property
    def context_share(self) -> int:
        """The share of the context window that the last reply used, in per cent."""
        return min(100, round(100 * self.context / self.window)) if self.window else 0

    @property
    def sizes(self) -> dict[int, int]:
        """The cost of each turn as one of MAX_SIZE steps, relative to the most expensive one."""
        most = max((turn.cost for turn in self.turns.values()), default=0) or 1
        return {number: -(-MAX_SIZE * turn.cost // most) for number, turn in self.turns.items()}


def reading_facts(reading: Reading, earlier: ReadingFacts | None = None, unchanged: int = 0) -> ReadingFacts:
    """Sum up the turns that a reader shows, and nothing of other branches.

    The first `unchanged` turns are as in `earlier`, except for those whose agents have changed, and all after these.
    """
    turns = [turn for turn in reading.turns if turn.number]
    steps = _kept_steps(reading.root, earlier, unchanged) if earlier else []
    fresh = turns[len(steps) :]
    seen = {reply for step in steps for reply in step.replies}
    first = min((entry.offset for turn in fresh for entry in turn.entries), default=0)
    calls = reading.session.calls
    recent = calls[bisect_left(calls, first, key=lambda call: call.entry.offset) :]
    failed = frozenset(call.entry.offset for call in recent if call.failed)
    for turn in fresh:
        replies, total = turn_replies(reading.session, turn, seen), turn_totals(turn)
        facts = _turn_facts(turn, cost_of_replies(replies.values(), _prices()), total.output, failed)
        agents = frozenset(use.id or "" for entry in turn.entries for use in entry.uses if use.name in AGENT_TOOLS)
        steps.append(TurnStep(facts, total.context, frozenset(replies), agents))
    context = next((step.context for step in reversed(steps) if step.context), 0)
    model = next((reply.model for turn in reversed(turns) for reply in reversed(turn.replies) if reply.model), "")
    return ReadingFacts(
        tuple(steps),
        reading.root.agents,
        {step.facts.number: step.facts for step in steps},
        sum(step.facts.cost for step in steps),
        sum(step.facts.output for step in steps),
        context,
        window_of(model or "", context) if context else 0,
    )


def _kept_steps(session: Session, earlier: ReadingFacts, unchanged: int) -> list[TurnStep]:
    """Return the steps of the first turns up to one whose agents have changed."""
    before = {id(agent.session): agent for agent in earlier.agents}
    changed = [agent for agent in session.agents if before.pop(id(agent.session), None) != agent]
    calls = {_first_call(agent, session.agents) for agent in changed}
    calls |= {_first_call(agent, earlier.agents) for agent in before.values()}
    return list(takewhile(lambda step: step.agent_calls.isdisjoint(calls), earlier.steps[:unchanged]))


def _first_call(agent: Agent, agents: Sequence[Agent]) -> str:
    """Return the id of the call of the session itself that started an agent, or an agent above it."""
    by_id = {each.id: each for each in agents}
    passed: set[str] = set()
    while agent.parent is not None and agent.parent in by_id and agent.id not in passed:
        passed.add(agent.id)
        agent = by_id[agent.parent]
    return agent.call.id if agent.call else ""


@lru_cache(maxsize=1)
def _prices() -> Prices:
    return load()


def _turn_facts(turn: Turn, cost: int, output: int, failed: frozenset[int]) -> TurnFacts:
    uses = [use.name for entry in turn.entries for use in entry.uses]
    return TurnFacts(
        turn.number,
        cost,
        output,
        sum(entry.offset in failed or entry.is_api_error for entry in turn.entries),
        sum(name in WRITING_TOOLS for name in uses),
        sum(name in AGENT_TOOLS for name in uses),
        any(entry.is_boundary for entry in turn.entries),
        any(entry.type == "user" and speaker(entry) == "interrupt" for entry in turn.entries),
    )
