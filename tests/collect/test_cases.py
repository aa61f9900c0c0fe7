"""Each rule of the collector by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.collect.cases import CASES, Make
from tests.collect.collect_fixture import World


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[World] = []

    def world(**options: Any) -> World:
        made.append(World(**options))
        return made[-1]

    yield world
    for each in made:
        each.close()


@pytest.mark.req("R310", "R311", "R312", "R313", "R319", "R320", "R322", "R323", "R325")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_rule_holds(case: Callable[[Make], None], make: Make) -> None:
    case(make)
