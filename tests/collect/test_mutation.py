"""Each rule is needed: without it a case fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import pytest

from clew.errors import StoreError
from tests.collect import cases
from tests.collect.cases import Make
from tests.collect.collect_fixture import World
from tests.collect.mutation import MUTATIONS, Mutation
from tests.mutations.patch import Patch


def run(case: Callable[[Make], None]) -> None:
    """Run a case, and remove its folders."""
    worlds: list[World] = []

    def make(**options: Any) -> World:
        worlds.append(World(**options))
        return worlds[-1]

    try:
        case(make)
    finally:
        for world in worlds:
            world.close()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_case_fails_when_the_rule_is_switched_off(mutation: Mutation) -> None:
    reached: list[bool] = []
    crashes: list[BaseException] = []
    patch = Patch(lambda: reached.append(True), crashes.append)
    mutation.apply(patch)
    try:
        with pytest.raises((AssertionError, apsw.Error, KeyError, StoreError)):
            run(mutation.found_by)
    finally:
        patch.undo()
    assert reached, "the case does not run the changed code"
    assert not crashes, "the mutation itself is wrong"


def test_all_cases_pass_after_the_rules_are_switched_on_again() -> None:
    """A mutant must not fail for being patched."""
    for mutation in MUTATIONS:
        patch = Patch()
        mutation.apply(patch)
        patch.undo()
    for case in cases.CASES:
        run(case)
