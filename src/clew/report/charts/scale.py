"""Scales: steps of 1, 2 or 5, with as many digits as the step needs."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, log10
from typing import NamedTuple

from clew.facts.prices import MICRO, dollars
from clew.report.text_table import short_number


class Unit(NamedTuple):
    """What is counted: `name` for the axis, `text` for a value, `tick` for a value on an axis with a step."""

    name: str
    text: Callable[[float], str]
    tick: Callable[[float, float], str]
    smallest: float = 0.0  # step of an axis


def digits(step: float) -> int:
    """Return the digits after the point that multiples of a step need."""
    return max(0, -floor(log10(step) + 1e-9))


def _money(value: float) -> str:
    return dollars(round(value * MICRO**2))


def _money_tick(value: float, step: float) -> str:
    return f"${value:,.{max(2, digits(step)) if step < 1 else 0}f}"


def _count_tick(value: float, step: float) -> str:
    for size, letter in ((10**9, "G"), (10**6, "M"), (1000, "k")):
        if step * 10 > size or (step >= 1000 and value >= size):
            return f"{value / size:,.{digits(step / size)}f}{letter}" if value else "0"
    return f"{value:,.0f}"


MONEY = Unit("US dollars", _money, _money_tick, 1e-5)
TOKENS = Unit("Tokens", lambda value: short_number(round(value)), _count_tick, 1)
REPLIES = Unit(
    "Replies", lambda value: f"{round(value):,} {'reply' if round(value) == 1 else 'replies'}", _count_tick, 1
)


def round_step(room: float, smallest: float = 0.0) -> float:
    """Return the smallest step of 1, 2 or 5 times a power of ten that is at least `room`."""
    room = max(room, smallest)
    if room <= 0:
        return 1.0
    size = 10.0 ** floor(log10(room))
    return next(step for factor in (1, 2, 5, 10) if (step := factor * size) >= room * (1 - 1e-9))


def axis_values(top: float, unit: Unit, most: int = 5) -> tuple[list[float], float]:
    """Return the values of the lines of an axis from 0 to at least `top`, at most `most` above 0, and their step."""
    step = round_step(top / most, unit.smallest)
    return [step * index for index in range(max(1, ceil(top / step - 1e-9)) + 1)], step
