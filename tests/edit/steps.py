"""Steps of a plan by name, each taking a place between the first turn and the last."""

from __future__ import annotations

from collections.abc import Callable

from clew.edit.plan import Plan
from clew.errors import Refused

Steps = list[tuple[str, float]]


def turn_of(made: Plan, place: float) -> int:
    return 1 + int(place * (len(made.session.turns) - 1))


STEPS: dict[str, Callable[[Plan, float], Plan]] = {
    "drop": lambda made, at: made.drop_turn(turn_of(made, at)),
    "end": lambda made, at: made.end_with(turn_of(made, at)),
    "keep": lambda made, at: made.keep_turns({turn_of(made, at), turn_of(made, at / 2)}),
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
