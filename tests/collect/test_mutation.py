"""Each rule is needed: without it a case fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.collect import cases
from tests.collect.collect_fixture import World
from tests.collect.mutation import MUTATIONS, Mutation, mutant


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_case_fails_when_the_rule_is_switched_off(mutation: Mutation, tmp_path: Path) -> None:
    made: list[World] = []
    with mutant(mutation, tmp_path) as package:

        def make(**options: Any) -> World:
            made.append(World(package, **options))
            return made[-1]

        try:
            with pytest.raises((AssertionError, apsw.Error, KeyError)):
                getattr(cases, mutation.found_by)(make)
        finally:
            for world in made:
                world.close()


def test_the_copy_itself_works(tmp_path: Path) -> None:
    """A mutant must not fail for being a copy."""
    nothing = Mutation("none", "read_limits", "DAY = 86_400", "DAY = 86_400", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.collect.mutation.MUTATIONS", (nothing,))
        with mutant(nothing, tmp_path) as package:
            for case in cases.CASES:
                made: list[World] = []

                def make(made: list[World] = made, **options: Any) -> World:
                    made.append(World(package, **options))
                    return made[-1]

                case(make)
                for world in made:
                    world.close()
