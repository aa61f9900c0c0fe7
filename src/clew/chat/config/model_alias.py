"""Models by the short names that people use."""

from __future__ import annotations

from clew.models import plan_model, resolve, short_names

_DEFAULT = "sonnet"  # what is asked when nobody names a model


def named(name: str) -> str:
    """The model that a name stands for; `inherit` and no name stand for none."""
    match name.lower():
        case "" | "inherit":
            return ""
        case "default":
            return resolve(_DEFAULT)
    return resolve(name)


def choose(name: str) -> str:
    """The choice of a model: `opusplan` itself, because its model depends on the mode, else the full name."""
    return name.lower() if plan_model(name) else named(name)


def in_mode(choice: str, mode: str) -> str:
    """The model to ask in a permission mode. Only `opusplan` has two: opus in plan mode, sonnet in all others."""
    planned = plan_model(choice)
    if not planned:
        return choice
    return planned if mode == "plan" else named(choice)


def choices() -> dict[str, str]:
    """The models that have a short name, by it."""
    return {**short_names(), "default": named("default")}


def offered(current: str) -> list[str]:
    """The models to choose from: those that have a short name, `opusplan`, and the current choice."""
    return list(dict.fromkeys((*choices().values(), *filter(plan_model, choices()), current)))
