"""Compare our numbers with those that Claude Code recorded, and explain the differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from clew.conversation.session import Session
from clew.facts.prices import Prices, dollars
from clew.facts.token_usage import count, usage
from clew.report.timezone import Zone
from clew.report.usage_bucket import UsageBucket, bucket_for_reply
from clew.report.usage_row import UsageRow, sum_buckets
from clew.wire.entry_types import CostState
from clew.wire.side_files import ModelTokens, Stats


class CountDifference(NamedTuple):
    """One number as Claude Code recorded it and as we count it; `why` is empty if they agree."""

    source: str
    what: str
    theirs: str
    ours: str
    why: str


def compare_stats(stats: Stats, buckets: Iterable[UsageBucket], zone: Zone) -> Iterator[CountDifference]:
    """Compare tokens by model with stats-cache.json, up to the day of its last update."""
    last = stats.last_computed
    ours = _by_model(buckets, zone, last)
    for model in sorted(stats.models.keys() | ours.keys()):
        row = ours.get(model, UsageRow(model))
        for what, theirs, mine in _token_counts(stats.models.get(model, ModelTokens()), row):
            why = "" if theirs == mine else _explain_stats(theirs, mine, last)
            yield CountDifference("stats-cache.json", f"{model} {what}", f"{theirs:,}", f"{mine:,}", why)


def _token_counts(theirs: ModelTokens, ours: UsageRow) -> tuple[tuple[str, int, int], ...]:
    return (
        ("input", theirs.input_tokens, ours.input),
        ("output", theirs.output_tokens, ours.output),
        ("cache write", theirs.cache_creation, ours.write),
        ("cache read", theirs.cache_read, ours.read),
    )


def _by_model(buckets: Iterable[UsageBucket], zone: Zone, last: date | None) -> dict[str, UsageRow]:
    rows: dict[str, UsageRow] = {}
    end = (last + timedelta(days=1)).isoformat() if last else None
    for bucket in buckets:
        if end is None or zone.day(bucket.when) < end:
            rows.setdefault(bucket.model, UsageRow(bucket.model)).add(bucket, None)
    return rows


def _explain_stats(theirs: int, ours: int, last: date | None) -> str:
    if theirs > ours:
        return "it includes sessions that have been deleted, and counts a reply once for each line"
    day = f" (up to {last})" if last else ""
    return f"it was updated before the last of these replies{day}, or does not include agents"


def compare_cost_state(session: Session, prices: Prices) -> Iterator[CountDifference]:
    """Compare the cost with the last cost-state entry, which Claude Code writes when it exits."""
    states = [CostState.of(entry) for entry in session.entries if entry.type == "cost-state"]
    if not states:
        return
    state = states[-1]
    ours = sum_buckets((bucket_for_reply(spend, None, {}) for spend in usage(session).replies.values()), prices)
    theirs = round(float(state.total_cost) * 10**12)
    why = ""
    if dollars(theirs) != dollars(ours.cost):
        why = _explain_cost(theirs, ours, has_unknown=state.has_unknown_model_cost)
    yield CountDifference(f"cost-state of {session.id[:8]}", "cost", dollars(theirs), dollars(ours.cost), why)


def _explain_cost(theirs: int, ours: UsageRow, *, has_unknown: bool) -> str:
    if ours.unpriced:
        return f"clew has no price for {', '.join(sorted(ours.unpriced))}"
    if has_unknown:
        return "it did not know the price of a model and used that of another"
    if theirs > ours.cost:
        return "it counts requests without a reply in the file: titles, summaries, side questions, retries"
    return "it counts from its last start only, and the session was resumed"


def compare_agents(session: Session) -> Iterator[CountDifference]:
    """Compare the total in the result of an agent call, which is the window at its end, not the sum of its replies."""
    for agent in session.agents:
        detail = agent.call.detail if agent.call else None
        theirs = detail.get("totalTokens") if isinstance(detail, dict) else None
        replies = [reply.tokens for reply in agent.session.replies if reply.tokens and not reply.is_synthetic]
        if not isinstance(theirs, int) or not replies:
            continue
        ours = count(replies[-1]).total
        why = "" if ours == theirs else "the last reply of the agent is a placeholder, or is not in its file"
        yield CountDifference(f"agent {agent.id}", "tokens at its end", f"{theirs:,}", f"{ours:,}", why)
