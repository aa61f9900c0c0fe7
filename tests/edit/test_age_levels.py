"""Bands: what is typed, and what each turn gets of it."""

from __future__ import annotations

import pytest

from clew.edit.summary.age_levels import BRIEF, DEFAULT, SHORT, VERBATIM, parse_bands, turn_levels
from clew.errors import BadQuery


def names(text: str, count: int) -> str:
    return "".join(level.name[0] for level in turn_levels(parse_bands(text), count))


@pytest.mark.parametrize(
    ("text", "count", "found"),
    [
        ("2:verbatim,3:short,rest:brief", 8, "bbbsssvv"),
        ("2:verbatim,3:short,rest:brief", 4, "ssvv"),
        ("2:verbatim,3:short,rest:brief", 1, "v"),
        ("1:verbatim,2:short", 5, "ssssv"),
        ("0:verbatim, rest : brief", 2, "bb"),
        ("1:brief,1:verbatim,rest:short", 3, "svb"),
        (DEFAULT, 60, "b" * 10 + "s" * 40 + "v" * 10),
        (DEFAULT, 0, ""),
    ],
)
def test_turns_are_counted_from_the_end(text: str, count: int, found: str) -> None:
    assert names(text, count) == found


def test_levels_get_shorter() -> None:
    assert VERBATIM.rank < SHORT.rank < BRIEF.rank
    assert SHORT.limit > BRIEF.limit > 0


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        ("", 1, "A band is not written as TURNS:LEVEL"),
        ("5", 1, "A band is not written as TURNS:LEVEL"),
        ("2:verbatim,x:short", 12, "A band is not written as TURNS:LEVEL"),
        ("-1:short", 1, "A band is not written as TURNS:LEVEL"),
        ("5:tiny", 1, "No level is called 'tiny'"),
        ("rest:short,5:brief", 12, "Nothing can follow 'rest'"),
    ],
)
def test_what_cannot_be_understood_is_told_with_its_place(text: str, at: int, reason: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse_bands(text)
    assert str(refused.value) == f"{reason} in {text!r} at position {at}."
    assert "10:verbatim" in refused.value.hint
