"""What each turn of a reading did and cost, for the header, the margin and the outline of the reader."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from clew.conversation.agent_sessions import AGENT_TOOLS
from clew.conversation.speaker import speaker
from clew.conversation.turns import Turn
from clew.facts.file_changes import WRITING_TOOLS
from clew.facts.prices import Prices, dollars, load
from clew.models import window_of
from clew.report.cost_by_turn import turn_costs
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
class ReadingFacts:
    """The turns by number, and the totals of the branch that is shown."""

    turns: dict[int, TurnFacts]
    cost: int
    output: int
    context: int
    window: int

    @property
    def context_share(self) -> int:
        """The share of the context window that the last reply used, in per cent."""
        return min(100, round(100 * self.context / self.window)) if self.window else 0

    def size(self, number: int) -> int:
        """Return the cost of a turn as one of MAX_SIZE steps, relative to the most expensive one."""
        most = max((turn.cost for turn in self.turns.values()), default=0)
        return -(-MAX_SIZE * self.turns[number].cost // most) if most else 0


def reading_facts(reading: Reading) -> ReadingFacts:
    """Sum up the turns that a reader shows, and nothing of other branches."""
    turns = [turn for turn in reading.turns if turn.number]
    failed = {call.entry.offset: call for call in reading.session.calls if call.failed}
    rows = list(turn_costs(reading.session, turns, _prices(), set()))
    totals = [turn_totals(turn) for turn in turns]
    facts = {
        turn.number: _turn_facts(turn, row.cost, total.output, frozenset(failed))
        for turn, row, total in zip(turns, rows, totals, strict=True)
    }
    context = next((total.context for total in reversed(totals) if total.context), 0)
    model = next((reply.model for turn in reversed(turns) for reply in reversed(turn.replies) if reply.model), "")
    return ReadingFacts(
        facts,
        sum(row.cost for row in rows),
        sum(total.output for total in totals),
        context,
        window_of(model or "", context) if context else 0,
    )


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
