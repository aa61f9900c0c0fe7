"""Token usage and cost of a conversation, summed by model from what the API reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from clew.facts.prices import STEP, Prices, cost, load, micros
from clew.models import default_model
from clew.wire.json_codec import Json


class ModelUsage(Struct):
    """Token counts and cost of one model."""

    input: int = 0
    output: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0
    web_search: int = 0
    money: int = 0
    assumed_money: int = 0  # by the price of the default model, if this one has none
    is_priced: bool = True

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_1h


class ConversationCost(Struct):
    """Usage and cost of a conversation, including subagents and summaries."""

    prices: Prices = field(default_factory=load)
    models: dict[str, ModelUsage] = field(default_factory=dict)

    def add(self, model: str, usage: Mapping[str, Any]) -> None:
        """Add the usage of one request."""
        if not usage:
            return
        counts = _counts(usage)
        input_size = counts[0] + counts[2] + counts[3] + counts[4]
        usage_of_model = self.models.setdefault(model, ModelUsage())
        usage_of_model.input += counts[0]
        usage_of_model.output += counts[1]
        usage_of_model.cache_write_5m += counts[2]
        usage_of_model.cache_write_1h += counts[3]
        usage_of_model.cache_read += counts[4]
        usage_of_model.web_search += counts[5]
        rate = self.prices.rate(model, str(usage.get("speed") or ""), -(-input_size // STEP))
        if rate is None:
            usage_of_model.is_priced = False
            assumed = self.prices.rate(default_model(), "", -(-input_size // STEP))
            usage_of_model.assumed_money += cost(assumed, counts) if assumed else 0
        else:
            usage_of_model.money += cost(rate, counts)

    @property
    def dollars(self) -> float:
        """The cost of all requests to models whose price is known."""
        return micros(sum(model_usage.money for model_usage in self.models.values())) / 1e6

    @property
    def budget_dollars(self) -> float:
        """The cost that counts for a budget: models without a price count like the default model, as in Claude Code."""
        return self.dollars + micros(sum(model_usage.assumed_money for model_usage in self.models.values())) / 1e6

    def has_price(self, model: str) -> bool:
        return self.prices.rate(model) is not None

    @property
    def is_priced(self) -> bool:
        return all(model_usage.is_priced for model_usage in self.models.values())

    @property
    def usage(self) -> Json:
        """Token counts over all models, under the API's field names."""
        usages = list(self.models.values())
        return {
            "input_tokens": sum(s.input for s in usages),
            "cache_creation_input_tokens": sum(s.cache_write for s in usages),
            "cache_read_input_tokens": sum(s.cache_read for s in usages),
            "output_tokens": sum(s.output for s in usages),
            "cache_creation": {
                "ephemeral_5m_input_tokens": sum(s.cache_write_5m for s in usages),
                "ephemeral_1h_input_tokens": sum(s.cache_write_1h for s in usages),
            },
            "server_tool_use": {"web_search_requests": sum(s.web_search for s in usages)},
        }

    @property
    def by_model(self) -> dict[str, Json]:
        return {
            model: {
                "inputTokens": s.input,
                "outputTokens": s.output,
                "cacheReadInputTokens": s.cache_read,
                "cacheCreationInputTokens": s.cache_write,
                "cacheCreationEphemeral5mInputTokens": s.cache_write_5m,
                "cacheCreationEphemeral1hInputTokens": s.cache_write_1h,
                "webSearchRequests": s.web_search,
                "costUSD": micros(s.money) / 1e6,
                "costBasis": "list" if s.is_priced else "unknown",
            }
            for model, s in self.models.items()
        }


def _counts(usage: Mapping[str, Any]) -> tuple[int, int, int, int, int, int]:
    """Return the token counts of a request, in the order of `clew.facts.prices.cost`."""
    written = _number(usage.get("cache_creation_input_tokens"))
    lifetimes = usage.get("cache_creation")
    one_hour = _number(lifetimes.get("ephemeral_1h_input_tokens")) if isinstance(lifetimes, dict) else 0
    server = usage.get("server_tool_use")
    searches = _number(server.get("web_search_requests")) if isinstance(server, dict) else 0
    read = _number(usage.get("cache_read_input_tokens"))
    return (
        _number(usage.get("input_tokens")),
        _number(usage.get("output_tokens")),
        written - one_hour,
        one_hour,
        read,
        searches,
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
