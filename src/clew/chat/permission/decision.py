"""Define the decision about a tool call, and the permission modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from clew.wire.json_codec import Json

Kind = Literal["allow", "deny", "ask"]
Mode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]

MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one call. `reason` is shown to the user, `message` is sent to the model if the call is not
    made.
    """

    kind: Kind
    reason: str = ""
    input: Json | None = None  # the input to use instead, if it was changed
    message: str = ""
    suggestions: tuple[str, ...] = ()  # rules that would allow the call without a prompt next time
    path: str | None = None  # the file that the prompt is about
    rule: str = ""  # the rule that decided; a hook cannot answer the prompt of an ask rule with allow


def parse_mode(name: str) -> tuple[Mode, str]:
    """Return the mode of this name, and a notice for the user if another mode is used instead."""
    for mode in MODES:
        if name == mode:
            return mode, ""
    if name == "manual":
        return "default", ""
    if name == "auto":
        return "default", "The mode auto is not supported by clew; using the mode default."
    return "default", f"Unknown mode {name!r}; using the mode default."
