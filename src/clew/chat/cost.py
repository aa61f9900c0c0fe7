"""The tally: what the replies took, as the API reports it, with its price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from clew.facts.prices import STEP, Prices, cost, load, micros
from clew.wire.json_codec import Json


class Spent(Struct):
    """The sums of one model."""

    input: int = 0
    output: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0
    web_search: int = 0
    money: int = 0
    is_priced: bool = True

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_1h


class ConversationCost(Struct):
    """All that a conversation took, agents and summaries included."""

    prices: Prices = field(default_factory=load)
    models: dict[str, Spent] = field(default_factory=dict)

    def add(self, model: str, usage: Mapping[str, Any]) -> None:
        """What one request was charged."""
        if not usage:
            return
        counts = _counts(usage)
        sent = counts[0] + counts[2] + counts[3] + counts[4]
        spent = self.models.setdefault(model, Spent())
        spent.input += counts[0]
        spent.output += counts[1]
        spent.cache_write_5m += counts[2]
        spent.cache_write_1h += counts[3]
        spent.cache_read += counts[4]
        spent.web_search += counts[5]
        rate = self.prices.rate(model, str(usage.get("speed") or ""), -(-sent // STEP))
        if rate is None:
            spent.is_priced = False
        else:
            spent.money += cost(rate, counts)

    @property
    def dollars(self) -> float:
        """What has a price."""
        return micros(sum(spent.money for spent in self.models.values())) / 1e6

    @property
    def is_priced(self) -> bool:
        return all(spent.is_priced for spent in self.models.values())

    @property
    def usage(self) -> Json:
        """The sums over all models, by the API's own names."""
        found = list(self.models.values())
        return {
            "input_tokens": sum(s.input for s in found),
            "cache_creation_input_tokens": sum(s.cache_write for s in found),
            "cache_read_input_tokens": sum(s.cache_read for s in found),
            "output_tokens": sum(s.output for s in found),
            "server_tool_use": {"web_search_requests": sum(s.web_search for s in found)},
        }

    @property
    def by_model(self) -> dict[str, Json]:
        return {
            model: {
                "inputTokens": s.input,
                "outputTokens": s.output,
                "cacheReadInputTokens": s.cache_read,
                "cacheCreationInputTokens": s.cache_write,
                "webSearchRequests": s.web_search,
                "costUSD": micros(s.money) / 1e6,
            }
            for model, s in self.models.items()
        }


def _counts(usage: Mapping[str, Any]) -> tuple[int, int, int, int, int, int]:
    """The counts in the order of a price."""
    written = _number(usage.get("cache_creation_input_tokens"))
    lifetimes = usage.get("cache_creation")
    long = _number(lifetimes.get("ephemeral_1h_input_tokens")) if isinstance(lifetimes, dict) else 0
    server = usage.get("server_tool_use")
    searches = _number(server.get("web_search_requests")) if isinstance(server, dict) else 0
    read = _number(usage.get("cache_read_input_tokens"))
    return (
        _number(usage.get("input_tokens")),
        _number(usage.get("output_tokens")),
        written - long,
        long,
        read,
        searches,
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
