"""Describe the cost of a session for the user."""

from __future__ import annotations

from clew.chat.cost import ConversationCost
from clew.wire.json_codec import Json

_COUNTS = (
    ("input", "inputTokens"),
    ("output", "outputTokens"),
    ("cache read", "cacheReadInputTokens"),
    ("cache write", "cacheCreationInputTokens"),
)


def describe_cost(cost: ConversationCost) -> list[tuple[str, str]]:
    """Return the cost as pairs of a name and a value: the total, then each model."""
    total = f"${cost.dollars:.4f}" + ("" if cost.is_priced else ", without models that have no price")
    return [("Total cost", total), *((model, _describe_model(spent)) for model, spent in cost.by_model.items())]


def _describe_model(spent: Json) -> str:
    counts = ", ".join(f"{spent[name]:,} {word}" for word, name in _COUNTS)
    return f"{counts} (${spent['costUSD']:.4f})"
