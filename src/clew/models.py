"""The table of models: names, short names, window, length of a reply, thinking, system turns, and prices.

The table is `models.json` beside this file, with the day and the place where each fact was seen. Whoever needs to know
something about a model asks here. This module imports nothing heavy: `clew usage` and the status line begin with it.
"""

from __future__ import annotations

import os
import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    class Model(NamedTuple):
        """What is known about a model. `name` is its name in the table, empty for a model that is not in it."""

        name: str
        window: int  # tokens that a request and its reply may have
        output: int  # tokens that a reply may have
        thinking: str  # how it is asked for: "adaptive", with a "budget" of tokens, or "" for a model without
        effort: str  # the default; empty for a model without
        system_turns: bool  # whether messages with the role `system` may stand among the others
        resumes: bool  # whether Claude Code goes on with it when it resumes a session
else:
    from collections import namedtuple

    Model = namedtuple("Model", "name window output thinking effort system_turns resumes")

LONG = "[1m]"  # after the name of a model: with its long window
LONG_WINDOW = 1_000_000
_TABLE = os.path.join(os.path.dirname(__file__), "models.json")
_FIELDS = ("window", "output", "thinking", "effort", "system_turns", "resumes")


@cache
def table() -> dict[str, Any]:
    """The whole table as it stands in the file."""
    import json

    with open(_TABLE, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


@cache
def model_of(name: str) -> Model:
    """The facts about a model by any of its names: short, with a date, with a provider's prefix, or with `[1m]`.

    A model that is not in the table has the values that Claude Code takes for one that it does not know.
    """
    plain, is_long = without_suffix(_full_name(name))
    known = known_name(plain)
    row = table()["models"][known] if known else table()["unknown"]
    found = Model(known, *(row[field] for field in _FIELDS))
    return found._replace(window=max(found.window, LONG_WINDOW)) if is_long else found


@cache
def known_name(name: str) -> str:
    """The name in the table that a name contains, or nothing: `claude-opus-5-5-20261001` is `claude-opus-5-5`.

    A longer version number is another model: `claude-opus-5-1` is not `claude-opus-5`.
    """
    plain = name.lower().replace(".", "-")
    found = [known for known in table()["models"] if _contains(plain, known)]
    return max(found, key=len, default="")


def _contains(name: str, known: str) -> bool:
    return re.search(rf"{known}(?!\d)(?!-[1-9]\d?(?!\d))", name) is not None


def resolve(name: str) -> str:
    """The full name for a short one such as `opus` or `sonnet[1m]`, the successor of a retired one, else the name itself."""
    full = _full_name(name)
    plain = without_suffix(full)[0]
    return str(table()["retired"].get(known_name(plain.removesuffix("-0")), full))


def _full_name(name: str) -> str:
    plain, is_long = without_suffix(name)
    full = str(table()["aliases"].get(plain.lower(), plain))
    known = known_name(full)
    needs_suffix = is_long and (not known or table()["models"][known]["window"] < LONG_WINDOW)
    return full + LONG if needs_suffix else full


def plan_model(name: str) -> str:
    """The full name for a short one in plan mode, if it stands for another model there (`opusplan`), else nothing."""
    plain, is_long = without_suffix(name)
    full = str(table()["plan_aliases"].get(plain.lower(), ""))
    return _full_name(full + LONG if is_long else full) if full else ""


def without_suffix(name: str) -> tuple[str, bool]:
    """The name to send for a model, and whether its long window is meant: `[1m]` is never part of what is sent."""
    is_long = name.lower().endswith(LONG)
    return (name[: -len(LONG)] if is_long else name), is_long


def is_same(first: str, second: str) -> bool:
    """Whether two names stand for one model, so that each takes the thinking of the other."""
    known = known_name(first)
    if known:
        return known == known_name(second)
    return without_suffix(first)[0] == without_suffix(second)[0]


def short_names() -> dict[str, str]:
    """The full names of the models that have a short one."""
    return dict(table()["aliases"])


def default_model() -> str:
    """The model that Claude Code takes when a session does not say which, or names one that is not used any more."""
    return str(table()["default"])


def summary_model() -> str:
    """The model that clew asks for summaries unless another is named."""
    return str(table()["summaries"])


def window_of(name: str, used: int = 0) -> int:
    """The window of a model. `used` is the largest number of tokens that one of its requests was seen to have.

    A request that was answered fitted, so a session that used more than the table says is on the long window.
    """
    window = model_of(name).window
    return window if used <= window else max(LONG_WINDOW, used)
