"""Models by the short names that people use."""

from __future__ import annotations

from collections.abc import Mapping

DEFAULT = "claude-sonnet-5-5"
SMALL = "claude-haiku-5-5"

_SHORT: Mapping[str, str] = {
    "opus": "claude-opus-5-5",
    "sonnet": DEFAULT,
    "haiku": SMALL,
    "default": DEFAULT,
    "inherit": "",
}


def named(name: str) -> str:
    """The model that a name stands for; `inherit` and no name stand for none."""
    return _SHORT.get(name.lower(), name) if name else ""


def choices() -> dict[str, str]:
    """The models that have a short name, by it."""
    return {name: model for name, model in _SHORT.items() if model}


def offered(current: str) -> list[str]:
    """The models to choose from: those that have a short name, and the one in use."""
    return list(dict.fromkeys((*choices().values(), current)))
