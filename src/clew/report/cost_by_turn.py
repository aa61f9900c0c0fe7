"""Cost of each turn, including the agents that it started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from clew.conversation.agent_sessions import Agent
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.facts.prices import Prices
from clew.facts.token_usage import Spend, usage
from clew.report.usage_bucket import bucket_for_reply
from clew.report.usage_row import UsageRow, group_buckets
from clew.report.usage_table import UsageTable

ELSEWHERE = "(other branches)"


def cost_by_turn(session: Session, prices: Prices, *, by_model: bool = False) -> UsageTable:
    """Return a row for each turn of the active path, including the agents it started, by model if `by_model`.

    Each reply counts once.
    """
    everything = usage(session).replies
    rows = all_turn_costs(session, prices, everything, by_model=by_model)
    return UsageTable("turn", rows, _row(everything.values(), prices, by_model, "Total"))


def all_turn_costs(
    session: Session, prices: Prices, everything: Mapping[str, Spend], *, by_model: bool = False
) -> list[UsageRow]:
    """Return a row for each turn of the active path, and one for those of `everything`, all replies, that are elsewhere."""
    seen: set[str] = set()
    rows = list(turn_costs(session, session.turns, prices, seen, by_model=by_model))
    rest = [spend for key, spend in everything.items() if key not in seen]
    return [*rows, _row(rest, prices, by_model, ELSEWHERE)] if rest else rows


def turn_costs(
    session: Session, turns: Iterable[Turn], prices: Prices, seen: set[str], *, by_model: bool = False
) -> Iterator[UsageRow]:
    """Yield a row for each of some turns; replies in `seen` are not counted, and those that are counted are added."""
    for turn in turns:
        own = turn_replies(session, turn, seen)
        yield _row(own.values(), prices, by_model, f"{turn.number:>4}  {' '.join(turn.text.split())}")


def turn_replies(session: Session, turn: Turn, seen: set[str]) -> dict[str, Spend]:
    """Return the replies of a turn, including its agents, that are not in `seen`; they are added to it."""
    agents = (agent for call in turn.calls for agent in _agents_of_call(session, call))
    spent = sum((usage(agent.session.entries) for agent in agents), usage(turn.entries))
    own = {key: spend for key, spend in spent.replies.items() if key not in seen}
    seen.update(own)
    return own


def cost_of_replies(spends: Iterable[Spend], prices: Prices) -> int:
    """Return the cost of some replies, in the unit of `facts.prices`."""
    return row_of_replies(spends, prices).cost


def row_of_replies(spends: Iterable[Spend], prices: Prices) -> UsageRow:
    """Return the sum of some replies."""
    return _row(spends, prices, False, "")


def _agents_of_call(session: Session, call: Call) -> list[Agent]:
    """Return the agents of a call, and the agents that those started."""
    agents = session.agents_for(call)
    calls = (inner for agent in agents for inner in agent.session.calls)
    return [*agents, *(agent for inner in calls for agent in _agents_of_call(session, inner))]


def _row(spends: Iterable[Spend], prices: Prices, by_model: bool, name: str) -> UsageRow:
    hours: dict[str, int] = {}
    buckets = (bucket_for_reply(spend, None, hours) for spend in spends)
    found = group_buckets(buckets, lambda bucket: [(name, bucket)], prices, by_model=by_model)
    return found[0] if found else UsageRow(name)
