"""Estimates: how many tokens something is, where nobody counted. Four characters are taken for one token."""

from __future__ import annotations

from typing import Any

CHARACTERS = 4
IMAGE = 1600  # tokens of a large picture; its base64 says nothing about them


def tokens(value: Any) -> int:
    """About how many tokens a text or a piece of a request is."""
    return (_size(value) + CHARACTERS - 1) // CHARACTERS


def _size(value: Any) -> int:
    """Characters of all texts, names and numbers; with a list for a stack, because inputs may be of any depth."""
    total = 0
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            total += len(item)
        elif isinstance(item, dict):
            if item.get("type") == "base64" and "data" in item:
                total += IMAGE * CHARACTERS
            else:
                todo += [*item.values(), *item]
        elif isinstance(item, list | tuple):
            todo += item
        elif item is not None:
            total += len(str(item))
    return total
