"""Find tokens that had no use, as far as the files show. The kinds may overlap, so they must not be added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from clew.conversation.replies import Reply
from clew.conversation.session import Session
from clew.facts.prices import Prices, cost
from clew.facts.token_usage import CHARACTERS_PER_TOKEN, Spend, usage
from clew.report.usage_bucket import bucket_for_reply
from clew.report.usage_row import UsageRow
from clew.system.file_errors import ErrorCollector

KINDS = {
    "failed": "replies all of whose calls failed",
    "repeated": "results of reading a file again that had not changed (estimated)",
    "expired": "prompts written to the cache again after it expired",
    "compacted": "prompts written to the cache again after a compaction",
    "retried": "requests that were rejected or interrupted, and sent again",
}


class Waste(NamedTuple):
    """One kind of waste: how often, how many tokens, and their cost in the unit of `facts.prices`."""

    kind: str
    times: int = 0
    tokens: int = 0
    cost: int = 0

    @property
    def meaning(self) -> str:
        return KINDS[self.kind]

    def plus(self, other: Waste) -> Waste:
        return Waste(self.kind, self.times + other.times, self.tokens + other.tokens, self.cost + other.cost)


def find_waste(sessions: Iterable[Session], prices: Prices, errors: ErrorCollector | None = None) -> list[Waste]:
    """Return the waste of sessions and their agents by kind, the most expensive first.

    Sessions that cannot be read are added to `errors`.
    """
    by_kind = {kind: Waste(kind) for kind in KINDS}
    errors = errors or ErrorCollector()
    for session in sessions:
        with errors.catch(session.path or session.id):
            for each in (session, *(agent.session for agent in session.agents)):
                for one in list(_waste_of_session(each, prices)):
                    by_kind[one.kind] = by_kind[one.kind].plus(one)
    return sorted(by_kind.values(), key=lambda each: (-each.cost, -each.tokens, -each.times))


def _waste_of_session(session: Session, prices: Prices) -> Iterator[Waste]:
    spent = usage(session.entries).replies
    yield from _failed_calls(session, spent, prices)
    yield from _repeated_reads(session, prices)
    yield from _rewritten_prompts(session, spent, prices)
    for entry in session.entries:
        if entry.type == "system" and entry.subtype == "api_error":
            yield Waste("retried", 1)


def _failed_calls(session: Session, spent: Mapping[str, Spend], prices: Prices) -> Iterator[Waste]:
    failed = {call.id for call in session.calls if call.failed}
    for reply in session.replies:
        calls = {use.id for use in reply.uses}
        if calls and calls <= failed and reply.id in spent:
            row = _price_reply(spent[reply.id], prices)
            yield Waste("failed", 1, row.total, row.cost)


def _repeated_reads(session: Session, prices: Prices) -> Iterator[Waste]:
    """Yield files that were read twice with the same result, and so are in the window twice."""
    seen: set[tuple[str, str]] = set()
    for call in session.calls:
        if call.name != "Read" or not call.output or call.failed:
            continue
        key = (str(call.input), call.output)
        if key in seen:
            model = call.entry.message.model if call.entry.message else ""
            rate = prices.rate(model or "")
            tokens = len(call.output) // CHARACTERS_PER_TOKEN
            yield Waste("repeated", 1, tokens, tokens * rate.cache_write_5m if rate else 0)
        seen.add(key)


def _rewritten_prompts(session: Session, spent: Mapping[str, Spend], prices: Prices) -> Iterator[Waste]:
    """Yield replies that read less from the cache than it held before: the prompt was written to it again."""
    boundaries = {entry.offset for entry in session.entries if entry.is_boundary}
    before: Spend | None = None
    at = -1
    for reply in session.replies:
        spend = spent.get(reply.id)
        if spend is None or not spend.count.prompt:
            continue
        if before is not None and before.model == spend.model:
            lost = before.count.cache_read + before.count.cache_write - spend.count.cache_read
            again = min(lost, spend.count.cache_write)
            if again > 0 and lost > before.count.prompt // 2:
                is_compacted = any(at < offset < reply.entries[0].offset for offset in boundaries)
                yield Waste("compacted" if is_compacted else "expired", 1, again, _rewrite_cost(spend, again, prices))
        before, at = spend, _end(reply)


def _end(reply: Reply) -> int:
    return reply.entries[-1].offset


def _rewrite_cost(spend: Spend, tokens: int, prices: Prices) -> int:
    """Return the cost of writing tokens to the cache again, minus that of reading them."""
    bucket = bucket_for_reply(spend, None, {})
    rate = prices.rate(bucket.model, bucket.mode, bucket.steps)
    if rate is None:
        return 0
    hour = min(tokens, spend.count.cache_write_1h)
    return cost(rate, (0, 0, tokens - hour, hour, -tokens, 0))


def _price_reply(spend: Spend, prices: Prices) -> UsageRow:
    row = UsageRow("")
    bucket = bucket_for_reply(spend, None, {})
    row.add(bucket, prices.rate(bucket.model, bucket.mode, bucket.steps))
    return row
