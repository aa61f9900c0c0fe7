"""Other forms of a word, by examples and by their definition."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clew.index.word_forms import humps


def test_the_parts_of_identifiers() -> None:
    assert humps("getURLName2") == ["get", "url", "name", "2"]
    assert humps("AB1cD") == ["ab", "1", "c", "d"]


@given(st.text("aAbBzZ09", min_size=1))
def test_a_part_begins_at_a_capital_after_another_letter_and_at_digits(identifier: str) -> None:
    starts = {0}
    for position, (before, letter) in enumerate(pairwise(identifier), 1):
        is_last_capital = before.isupper() and identifier[position + 1 : position + 2].islower()
        if letter.isupper() and (not before.isupper() or is_last_capital):
            starts.add(position)
        if letter.isdigit() != before.isdigit():
            starts.add(position)
    assert humps(identifier) == [identifier[a:b].lower() for a, b in pairwise([*sorted(starts), len(identifier)])]
