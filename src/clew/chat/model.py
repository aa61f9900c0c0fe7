"""Models by the short names that people use."""

from __future__ import annotations

from clew.models import resolve, short_names

_DEFAULT = "sonnet"  # what is asked when nobody names a model


def named(name: str) -> str:
    """The model that a name stands for; `inherit` and no name stand for none."""
    match name.lower():
        case "" | "inherit":
            return ""
        case "default":
            return resolve(_DEFAULT)
    return resolve(name)


def choices() -> dict[str, str]:
    """The models that have a short name, by it."""
    return {**short_names(), "default": named("default")}


def offered(current: str) -> list[str]:
    """The models to choose from: those that have a short name, and the one in use."""
    return list(dict.fromkeys((*choices().values(), current)))
