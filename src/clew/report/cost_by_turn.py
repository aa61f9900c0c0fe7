"""Cost of each turn, including the agents that it started."""

from __future__ import annotations

from collections.abc import Iterable

from clew.conversation.agent_sessions import Agent
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.facts.prices import Prices
from clew.facts.token_usage import Spend, usage
from clew.report.usage_bucket import bucket_for_reply
from clew.report.usage_row import UsageRow, sum_buckets
from clew.report.usage_table import UsageTable

ELSEWHERE = "(other branches)"


def cost_by_turn(session: Session, prices: Prices) -> UsageTable:
    """Return a row for each turn of the active path, including the agents it started. Each reply counts once."""
    seen: set[str] = set()
    rows: list[UsageRow] = []
    for turn in session.turns:
        agents = (agent for call in turn.calls for agent in _agents_of_call(session, call))
        spent = sum((usage(agent.session.entries) for agent in agents), usage(turn.entries))
        own = {key: spend for key, spend in spent.replies.items() if key not in seen}
        seen |= own.keys()
        rows.append(_row(own.values(), prices, f"{turn.number:>4}  {' '.join(turn.text.split())}"))
    everything = usage(session).replies
    rest = [spend for key, spend in everything.items() if key not in seen]
    if rest:
        rows.append(_row(rest, prices, ELSEWHERE))
    return UsageTable("turn", rows, _row(everything.values(), prices, "Total"))


def _agents_of_call(session: Session, call: Call) -> list[Agent]:
    """Return the agents of a call, and the agents that those started."""
    agents = session.agents_for(call)
    calls = (inner for agent in agents for inner in agent.session.calls)
    return [*agents, *(agent for inner in calls for agent in _agents_of_call(session, inner))]


def _row(spends: Iterable[Spend], prices: Prices, name: str) -> UsageRow:
    hours: dict[str, int] = {}
    return sum_buckets((bucket_for_reply(spend, None, hours) for spend in spends), prices, name)
