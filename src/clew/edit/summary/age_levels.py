"""Bands: how closely each turn is kept, by its distance from the end.

    20:verbatim,60:short,rest:brief

are the newest 20 turns as they are, the 60 before them short, and all that is older brief. Without `rest` the last level
goes on to the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.errors import BadQuery

DEFAULT = "10:verbatim,40:short,rest:brief"
REST = "rest"


@dataclass(frozen=True, slots=True)
class Level:
    """How much of a turn's replies is left: `limit` in characters, none for all of it."""

    name: str
    rank: int
    limit: int


VERBATIM, SHORT, BRIEF = Level("verbatim", 0, 0), Level("short", 1, 700), Level("brief", 2, 240)
LEVELS = {level.name: level for level in (VERBATIM, SHORT, BRIEF)}


@dataclass(frozen=True, slots=True)
class Band:
    """So many turns of one level; None for all that are left."""

    turns: int | None
    level: Level


def bands(text: str) -> tuple[Band, ...]:
    """The bands that a text stands for. Raises BadQuery."""
    found: list[Band] = []
    at = 0
    for part in text.split(","):
        count, colon, name = (word.strip() for word in part.partition(":"))
        if found and found[-1].turns is None:
            raise _bad(text, at, f"Nothing can come behind {REST!r}")
        if not colon or not (count == REST or (count.isascii() and count.isdigit())):
            raise _bad(text, at, "A band is not written as TURNS:LEVEL")
        if name not in LEVELS:
            raise _bad(text, at, f"No level is called {name!r}")
        found.append(Band(None if count == REST else int(count), LEVELS[name]))
        at += len(part) + 1
    return tuple(found)


def levels(given: Sequence[Band], count: int) -> list[Level]:
    """The level of each of so many turns, oldest first."""
    found: list[Level] = []
    for band in given:
        left = count - len(found)
        found += [band.level] * (left if band.turns is None else min(band.turns, left))
    found += [given[-1].level if given else VERBATIM] * (count - len(found))
    return found[::-1]


def _bad(text: str, at: int, reason: str) -> BadQuery:
    error = BadQuery(text, at, reason)
    error.hint = f"Write bands from the end on, like {DEFAULT}; the levels are {', '.join(LEVELS)}."
    return error
