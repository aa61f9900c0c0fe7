"""Resolve short model names such as `opus`."""

from __future__ import annotations

from clew.models import plan_model, resolve, short_names

_DEFAULT_MODEL = "sonnet"  # used when no model is named


def resolve_alias(name: str) -> str:
    """Return the full name of a model; "" for `inherit` and the empty name."""
    match name.lower():
        case "" | "inherit":
            return ""
        case "default":
            return resolve(_DEFAULT_MODEL)
    return resolve(name)


def resolve_choice(name: str) -> str:
    """Return the full name of a model, except for `opusplan`, whose model depends on the permission mode."""
    return name.lower() if plan_model(name) else resolve_alias(name)


def model_in_mode(choice: str, mode: str) -> str:
    """Return the model to use in a permission mode: `opusplan` is opus in plan mode and sonnet otherwise."""
    planned = plan_model(choice)
    if not planned:
        return choice
    return planned if mode == "plan" else resolve_alias(choice)


def short_model_names() -> dict[str, str]:
    """Return the models with a short name, by that name."""
    return {**short_names(), "default": resolve_alias("default")}


def offered_models(current: str) -> list[str]:
    """Return the models to choose from: those with a short name, `opusplan`, and the current choice."""
    return list(dict.fromkeys((*short_model_names().values(), *filter(plan_model, short_model_names()), current)))
