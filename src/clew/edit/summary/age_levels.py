"""Parse bands: how much of each turn to keep, by its distance from the end.

20:verbatim,60:short,rest:brief

keeps the newest 20 turns unchanged, makes the 60 before them short, and all older ones brief. Without `rest` the
last level applies to all older turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clew.errors import BadQuery

DEFAULT = "10:verbatim,40:short,rest:brief"
REST = "rest"


class Level(NamedTuple):
    """How much of a turn's replies is kept: at most `limit` characters; 0 for everything."""

    name: str
    rank: int
    limit: int


VERBATIM, SHORT, BRIEF = Level("verbatim", 0, 0), Level("short", 1, 700), Level("brief", 2, 240)
LEVELS = {level.name: level for level in (VERBATIM, SHORT, BRIEF)}


class Band(NamedTuple):
    """A number of turns with one level; None for all remaining turns."""

    turns: int | None
    level: Level


def parse_bands(text: str) -> tuple[Band, ...]:
    """Parse bands. Raises BadQuery."""
    parsed: list[Band] = []
    at = 0
    for part in text.split(","):
        count, colon, name = (word.strip() for word in part.partition(":"))
        if parsed and parsed[-1].turns is None:
            raise _syntax_error(text, at, f"Nothing can follow {REST!r}")
        if not colon or not (count == REST or (count.isascii() and count.isdigit())):
            raise _syntax_error(text, at, "A band is not written as TURNS:LEVEL")
        if name not in LEVELS:
            raise _syntax_error(text, at, f"No level is called {name!r}")
        parsed.append(Band(None if count == REST else int(count), LEVELS[name]))
        at += len(part) + 1
    return tuple(parsed)


def turn_levels(bands: Sequence[Band], count: int) -> list[Level]:
    """Return the level of each of `count` turns, oldest first."""
    result: list[Level] = []
    for band in bands:
        left = count - len(result)
        result += [band.level] * (left if band.turns is None else min(band.turns, left))
    result += [bands[-1].level if bands else VERBATIM] * (count - len(result))
    return result[::-1]


def _syntax_error(text: str, at: int, reason: str) -> BadQuery:
    return BadQuery(
        text, at, reason, hint=f"Write bands from the end on, like {DEFAULT}; the levels are {', '.join(LEVELS)}."
    )
