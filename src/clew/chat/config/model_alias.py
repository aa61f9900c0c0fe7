"""Resolve short model names such as `opus`."""

from __future__ import annotations

from clew.models import LONG_SUFFIX, plan_model, resolve, short_names, without_suffix
from clew.system.environment import family_model

_DEFAULT_MODEL = "sonnet"  # used when no model is named
_FAMILIES = {
    "opus": "opus",
    "sonnet": "sonnet",
    "haiku": "haiku",
    "fable": "fable",
    "opusplan": "sonnet",
    "best": "opus",
}


def resolve_alias(name: str) -> str:
    """Return the full name of a model; "" for `inherit` and the empty name."""
    match name.lower():
        case "" | "inherit":
            return ""
        case "default":
            return resolve_alias(_DEFAULT_MODEL)
    plain, is_long = without_suffix(name)
    return _of_family(_FAMILIES.get(plain.lower(), ""), is_long) or resolve(name)


def _of_family(family: str, is_long: bool) -> str:
    """Return the model that the user set for a family with a variable such as `ANTHROPIC_DEFAULT_OPUS_MODEL`."""
    name = family_model(family) if family else ""
    return name + LONG_SUFFIX if name and is_long and not without_suffix(name)[1] else name


def resolve_choice(name: str) -> str:
    """Return the full name of a model, except for `opusplan`, whose model depends on the permission mode."""
    return name.lower() if plan_model(name) else resolve_alias(name)


def model_in_mode(choice: str, mode: str) -> str:
    """Return the model to use in a permission mode: `opusplan` is opus in plan mode and sonnet otherwise."""
    planned = plan_model(choice)
    if not planned:
        return choice
    if mode != "plan":
        return resolve_alias(choice)
    return _of_family("opus", without_suffix(choice)[1]) or planned


def short_model_names() -> dict[str, str]:
    """Return the models with a short name, by that name."""
    return {**short_names(), "default": resolve_alias("default")}


def offered_models(current: str) -> list[str]:
    """Return the models to choose from: those with a short name, `opusplan`, and the current choice."""
    return list(dict.fromkeys((*short_model_names().values(), *filter(plan_model, short_model_names()), current)))
