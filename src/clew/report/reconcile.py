"""Reconciling: our numbers beside those that Claude Code wrote down itself, and why they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from clew.conversation.session import Session
from clew.facts.prices import Prices, dollars
from clew.facts.token_usage import count, usage
from clew.report.timezone import Zone
from clew.report.usage_bucket import Cell, cell_of
from clew.report.usage_row import UsageRow, summed
from clew.wire.entry_types import CostState
from clew.wire.side_files import ModelTokens, Stats


class CountDifference(NamedTuple):
    """One number of theirs and ours; `why` is empty if they agree."""

    source: str
    what: str
    theirs: str
    ours: str
    why: str


def with_stats(stats: Stats, cells: Iterable[Cell], zone: Zone) -> Iterator[CountDifference]:
    """stats-cache.json: tokens by model, up to the day that it was last brought up to date."""
    last = stats.last_computed
    ours = _by_model(cells, zone, last)
    for model in sorted(stats.models.keys() | ours.keys()):
        row = ours.get(model, UsageRow(model))
        for what, theirs, mine in _numbers(stats.models.get(model, ModelTokens()), row):
            why = "" if theirs == mine else _why_stats(theirs, mine, last)
            yield CountDifference("stats-cache.json", f"{model} {what}", f"{theirs:,}", f"{mine:,}", why)


def _numbers(theirs: ModelTokens, ours: UsageRow) -> tuple[tuple[str, int, int], ...]:
    return (
        ("input", theirs.input_tokens, ours.input),
        ("output", theirs.output_tokens, ours.output),
        ("cache write", theirs.cache_creation, ours.write),
        ("cache read", theirs.cache_read, ours.read),
    )


def _by_model(cells: Iterable[Cell], zone: Zone, last: date | None) -> dict[str, UsageRow]:
    found: dict[str, UsageRow] = {}
    end = (last + timedelta(days=1)).isoformat() if last else None
    for cell in cells:
        if end is None or zone.day(cell.when) < end:
            found.setdefault(cell.model, UsageRow(cell.model)).add(cell, None)
    return found


def _why_stats(theirs: int, ours: int, last: date | None) -> str:
    if theirs > ours:
        return "it keeps sessions that are deleted by now, and counts a reply once for each line of it"
    day = f" (up to {last})" if last else ""
    return f"it was brought up to date before the last of these replies{day}, or left out agents"


def with_cost_state(session: Session, prices: Prices) -> Iterator[CountDifference]:
    """cost-state: what the program itself said it had cost, when it ended."""
    states = [CostState.of(entry) for entry in session.entries if entry.type == "cost-state"]
    if not states:
        return
    state = states[-1]
    ours = summed((cell_of(spend, None, {}) for spend in usage(session).replies.values()), prices)
    theirs = round(float(state.total_cost) * 10**12)
    why = ""
    if dollars(theirs) != dollars(ours.cost):
        why = _why_cost(theirs, ours, has_unknown=state.has_unknown_model_cost)
    yield CountDifference(f"cost-state of {session.id[:8]}", "cost", dollars(theirs), dollars(ours.cost), why)


def _why_cost(theirs: int, ours: UsageRow, *, has_unknown: bool) -> str:
    if ours.unpriced:
        return f"no price is known here for {', '.join(sorted(ours.unpriced))}"
    if has_unknown:
        return "it did not know the price of a model, and took that of another"
    if theirs > ours.cost:
        return "it counts requests that leave no reply in the file: titles, summaries, side questions, retries"
    return "it counts from its last start only, and the session was resumed"


def with_agents(session: Session) -> Iterator[CountDifference]:
    """The total that the result of a call gives for its agent: the window at its end, not a sum of its replies."""
    for agent in session.agents:
        detail = agent.call.detail if agent.call else None
        theirs = detail.get("totalTokens") if isinstance(detail, dict) else None
        replies = [reply.tokens for reply in agent.session.replies if reply.tokens and not reply.is_synthetic]
        if not isinstance(theirs, int) or not replies:
            continue
        ours = count(replies[-1]).total
        why = "" if ours == theirs else "the last reply of the agent holds a placeholder, or is not in its file"
        yield CountDifference(f"agent {agent.id}", "tokens at its end", f"{theirs:,}", f"{ours:,}", why)
