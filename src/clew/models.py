"""Model table: names, aliases, context window, output limit, thinking, system turns and prices.

The table is `clew.model_table`. All code that needs a fact about a model gets it here. Imports are light because
`clew usage` and the status line start here.
"""

from __future__ import annotations

import re
from functools import cache

from clew.model_table import TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    class Model(NamedTuple):
        """Facts about a model. `name` is its key in the table, empty for a model that is not in it."""

        name: str
        window: int  # maximum tokens of a request and its reply together
        output: int  # maximum tokens of a reply
        thinking: str  # request form: "adaptive", "budget" (of tokens), or "" if unsupported
        effort: str  # the default; empty if unsupported
        system_turns: bool  # whether messages with the role `system` are allowed
        resumes: bool  # whether Claude Code keeps this model when it resumes a session
else:
    from collections import namedtuple

    Model = namedtuple("Model", "name window output thinking effort system_turns resumes")

LONG_SUFFIX = "[1m]"  # suffix of a model name: use the long context window
LONG_WINDOW = 1_000_000
_FIELDS = ("window", "output", "thinking", "effort", "system_turns", "resumes")


def table() -> dict[str, Any]:
    """Return the table of models."""
    return TABLE


@cache
def model_of(name: str) -> Model:
    """Return the facts about a model by any of its names: an alias, with a date, with a provider prefix, or with
    `[1m]`.

    A model that is not in the table gets the values that Claude Code assumes for unknown models.
    """
    plain, is_long = without_suffix(_full_name(name))
    known = known_name(plain)
    row = table()["models"][known] if known else table()["unknown"]
    model = Model(known, *(row[field] for field in _FIELDS))
    return model._replace(window=max(model.window, LONG_WINDOW)) if is_long else model


@cache
def known_name(name: str) -> str:
    """Return the longest table name that `name` contains, or "": `claude-opus-5-5-20261001` is `claude-opus-5-5`.

    A longer version number is another model: `claude-opus-5-1` is not `claude-opus-5`.
    """
    plain = name.lower().replace(".", "-")
    matches = [known for known in table()["models"] if _contains(plain, known)]
    return max(matches, key=len, default="")


def _contains(name: str, known: str) -> bool:
    return known in name and re.search(rf"{known}(?!\d)(?!-[1-9]\d?(?!\d))", name) is not None


def resolve(name: str) -> str:
    """Return the full name for an alias such as `opus` or `sonnet[1m]`, the successor of a retired model, else the
    name.
    """
    full = _full_name(name)
    return str(table()["retired"].get(without_suffix(full)[0].lower(), full))


def _full_name(name: str) -> str:
    plain, is_long = without_suffix(name)
    full = str(table()["aliases"].get(plain.lower(), plain))
    known = known_name(full)
    needs_suffix = is_long and (not known or table()["models"][known]["window"] < LONG_WINDOW)
    return full + LONG_SUFFIX if needs_suffix else full


def plan_model(name: str) -> str:
    """Return the full name of the model that an alias selects in plan mode (`opusplan`); "" if it selects the same
    one.
    """
    plain, is_long = without_suffix(name)
    full = str(table()["plan_aliases"].get(plain.lower(), ""))
    return _full_name(full + LONG_SUFFIX if is_long else full) if full else ""


def without_suffix(name: str) -> tuple[str, bool]:
    """Split a model name into the name to send and whether `[1m]` (the long window) was appended; `[1m]` is never
    sent.
    """
    is_long = name.lower().endswith(LONG_SUFFIX)
    return (name[: -len(LONG_SUFFIX)] if is_long else name), is_long


def is_same(first: str, second: str) -> bool:
    """Return True if two names denote the same model, so that each accepts thinking blocks of the other."""
    if first == second:
        return True
    known = known_name(first)
    if known:
        return known == known_name(second)
    return without_suffix(first)[0] == without_suffix(second)[0]


def short_names() -> dict[str, str]:
    """Return the aliases and the full names they stand for."""
    return dict(table()["aliases"])


def default_model() -> str:
    """Return the model that Claude Code uses if a session names none, or a retired one."""
    return str(table()["default"])


def summary_model() -> str:
    """Return the model that clew uses for summaries by default."""
    return str(table()["summaries"])


def has_trait(name: str, trait: str) -> bool:
    """Return True if the table lists a model under a trait, such as `always_thinks`."""
    return (model_of(name).name.removeprefix("claude-") or "-") in table()["traits"][trait].split()


def longest_output(name: str) -> int:
    """Return the most tokens that a reply of a model can be allowed to have; `Model.output` is the usual limit."""
    model = model_of(name)
    limits = table()["longest_output"]
    longest = next((limit for names, limit in limits.items() if model.name[len("claude-") :] in names.split()), 0)
    return max(model.output, longest, limits["adaptive"] if model.thinking == "adaptive" else 0)


def window_of(name: str, used: int = 0) -> int:
    """Return the context window of a model. `used` is the largest observed request size in tokens.

    An answered request did fit, so a session that used more than the table says has the long window.
    """
    window = model_of(name).window
    return window if used <= window else max(LONG_WINDOW, used)
