"""Estimate the tokens of text: four characters per token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

CHARACTERS_PER_TOKEN = 4
IMAGE_TOKENS = 1600  # tokens of a large image; independent of the size of its base64


def estimate_tokens(value: Any) -> int:
    """Estimate the tokens of a text or a part of a request."""
    return (
        (len(value) if isinstance(value, str) else _count_characters(value)) + CHARACTERS_PER_TOKEN - 1
    ) // CHARACTERS_PER_TOKEN


def has_tokens(parts: Iterable[Any], minimum: int) -> bool:
    """Return whether parts of a request have a number of tokens by estimate. Parts after that are not counted."""
    total = 0
    for part in parts:
        if total > (minimum - 1) * CHARACTERS_PER_TOKEN:
            break
        total += _count_characters(part)
    return total > (minimum - 1) * CHARACTERS_PER_TOKEN


def _count_characters(value: Any) -> int:
    """Count the characters of all texts, keys and numbers, with an explicit stack: inputs can be of any depth."""
    total = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            total += len(item)
        elif isinstance(item, dict):
            if item.get("type") == "base64" and "data" in item:
                total += IMAGE_TOKENS * CHARACTERS_PER_TOKEN
            else:
                stack += [*item.values(), *item]
        elif isinstance(item, list | tuple):
            stack += item
        elif item is not None:
            total += len(str(item))
    return total
