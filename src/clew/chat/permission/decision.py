"""Decisions: the answer to "may this call be made?", and the modes in which it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from clew.wire.json_codec import Json

Kind = Literal["allow", "deny", "ask"]
Mode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]

MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to become of a call. `reason` is for the person, `message` for the model if the call is not made."""

    kind: Kind
    reason: str = ""
    input: Json | None = None  # the input to use instead, if someone changed it
    message: str = ""
    suggestions: tuple[str, ...] = ()  # rules that would spare the question next time
    path: str | None = None  # the file that the question is about
    rule: str = ""  # the rule that settled it; what an ask rule asks, no hook can answer with allow


def known_mode(name: str) -> tuple[Mode, str]:
    """The mode of this name, and a remark for the person if it is not taken as it is written."""
    for mode in MODES:
        if name == mode:
            return mode, ""
    if name == "manual":
        return "default", ""
    if name == "auto":
        return "default", "The mode auto needs a judge that clew does not have: it asks as in the mode default."
    return "default", f"There is no mode {name!r}: it asks as in the mode default."
