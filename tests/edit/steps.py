"""Steps of a plan by name, each taking a place between the first turn and the last."""

from __future__ import annotations

from collections.abc import Callable

from clew.edit.plan import Plan
from clew.errors import Refused

Steps = list[tuple[str, float]]


def turn_of(made: Plan, place: float) -> int:
    return 1 + int(place * (len(made.session.turns) - 1))


STEPS: dict[str, Callable[[Plan, float], Plan]] = {
    "compact": lambda made, at: made.compact("In short.", keep_last=turn_of(made, at) - 1),
    "compress": lambda made, at: made.compress(bands=f"{turn_of(made, at) - 1}:verbatim,rest:short"),
    "drop": lambda made, at: made.drop_turn(turn_of(made, at)),
    "end": lambda made, at: made.end_with(turn_of(made, at)),
    "keep": lambda made, at: made.keep_turns({turn_of(made, at), turn_of(made, at / 2)}),
    "redact": lambda made, at: made.redact(patterns=["look|make"]),
    "repair": lambda made, at: made.repair(),
    "tools": lambda made, at: made.strip_tools(keep=turn_of(made, at) - 1),
    "trim fit": lambda made, at: made.trim("fit"),
    "trim heavy": lambda made, at: made.trim("heavy"),
    "truncate": lambda made, at: made.strip_tools(percent=100 * at, how="truncate"),
}


def planned(made: Plan, steps: Steps) -> Plan | None:
    """The steps one after the other; None where one of them leaves nothing."""
    for name, place in steps:
        if not made.session.turns:
            return None
        try:
            made = STEPS[name](made, place)
        except Refused:
            return None
    return made
