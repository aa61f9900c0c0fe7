"""Each rule of the collector by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.collect.cases import CASES, Make
from tests.collect.world import World

REQUIREMENTS = {
    "leaves_unchanged_files_closed": ("R313",),
    "leaves_empty_files_closed": ("R322",),
    "reads_the_oldest_first": ("R310",),
    "waits_for_the_end_of_a_line": ("R319", "R312"),
    "sees_a_truncated_file": ("R320",),
    "keeps_the_last_good_side_file": ("R311",),
    "takes_nothing_for_deleted_after_half_a_scan": ("R323",),
    "cuts_at_newlines_alone": ("R325",),
}


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[World] = []

    def world(**options: Any) -> World:
        made.append(World(**options))
        return made[-1]

    yield world
    for each in made:
        each.close()


def _cases() -> list[Any]:
    return [
        pytest.param(case, id=case.__name__, marks=pytest.mark.req(*REQUIREMENTS.get(case.__name__, ())))
        for case in CASES
    ]


@pytest.mark.parametrize("case", _cases())
def test_the_rule_holds(case: Callable[[Make], None], make: Make) -> None:
    case(make)
