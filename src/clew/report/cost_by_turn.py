"""Turns: what each prompt cost, with all the agents that came of it."""

from __future__ import annotations

from collections.abc import Iterable

from clew.conversation.agent_sessions import Agent
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.facts.prices import Prices
from clew.facts.token_usage import Spend, usage
from clew.report.usage_bucket import cell_of
from clew.report.usage_row import UsageRow, summed
from clew.report.usage_table import UsageTable

ELSEWHERE = "(other branches)"


def by_turn(session: Session, prices: Prices) -> UsageTable:
    """A row for each turn of the active path, agents rolled up to the turn that began them; each reply counts once."""
    seen: set[str] = set()
    found: list[UsageRow] = []
    for turn in session.turns:
        agents = (agent for call in turn.calls for agent in _below(session, call))
        spent = sum((usage(agent.session.entries) for agent in agents), usage(turn.entries))
        own = {key: spend for key, spend in spent.replies.items() if key not in seen}
        seen |= own.keys()
        found.append(_row(own.values(), prices, f"{turn.number:>4}  {' '.join(turn.text.split())}"))
    everything = usage(session).replies
    rest = [spend for key, spend in everything.items() if key not in seen]
    if rest:
        found.append(_row(rest, prices, ELSEWHERE))
    return UsageTable("turn", found, _row(everything.values(), prices, "Total"))


def _below(session: Session, call: Call) -> list[Agent]:
    """The agents of a call, and those that they began."""
    found = session.agents_for(call)
    return [*found, *(deeper for agent in found for inner in agent.session.calls for deeper in _below(session, inner))]


def _row(spends: Iterable[Spend], prices: Prices, name: str) -> UsageRow:
    minutes: dict[str, int] = {}
    return summed((cell_of(spend, None, minutes) for spend in spends), prices, name)
