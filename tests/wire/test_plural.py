"""Counts in sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import clew
from clew.system.plural import noun, plural


@pytest.mark.parametrize(
    ("count", "one", "expected"),
    [
        (0, "line", "0 lines"),
        (1, "line", "1 line"),
        (2, "more line", "2 more lines"),
        (1150, "line", "1,150 lines"),
        (2, "other branch", "2 other branches"),
        (2, "match", "2 matches"),
        (2, "reply", "2 replies"),
        (1, "entry", "1 entry"),
        (3, "entry", "3 entries"),
        (2, "day", "2 days"),
    ],
)
def test_a_count_and_its_noun_agree(count: int, one: str, expected: str) -> None:
    assert plural(count, one) == expected


def test_an_irregular_plural_is_given() -> None:
    assert plural(1, "line is", "lines are") == "1 line is" and noun(2, "line is", "lines are") == "lines are"


def test_no_other_code_makes_plurals() -> None:
    made = re.compile(r"""["'](?:e?s|ies)["'] if |else ["'](?:e?s|ies)["']""")
    files = Path(clew.__file__).parent.rglob("*.py")
    assert [str(path) for path in files if made.search(path.read_text(encoding="utf-8"))] == []
