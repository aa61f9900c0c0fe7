"""The table of mutations is whole, every mutation can be applied, and recorded tests fail under them."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Iterator
from functools import cached_property, lru_cache

import pytest

from clew.wire.project_slug import slug
from tests.mutations import Patch
from tests.mutations.registry import NAME, ROOT, Mutation, mutations, rows
from tests.requirements import proofs, requirements

SAMPLE = 6
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="mutations run in forked processes")


def test_each_mutation_is_of_a_requirement_and_has_a_row_with_a_test_marked_for_it() -> None:
    numbers = {each.number for each in requirements()}
    marked = {(proof.number, f"tests/{proof.test}") for proof in proofs()}
    found = {(each.number, each.name) for each in mutations()}
    assert {number for number, _ in found} <= numbers
    listed = {(row.number, row.mutation) for row in rows()}
    assert listed == found, "run python -m tests.mutations --new"
    assert [row for row in rows() if (row.number, row.test) not in marked] == []


@pytest.mark.parametrize("mutation", mutations(), ids=lambda each: f"{each.number}-{each.name}")
def test_each_mutation_applies(mutation: Mutation) -> None:
    patch = Patch()
    try:
        mutation.function(patch)
        assert patch.changes > 0
    finally:
        patch.undo()


def sample() -> list[str]:
    """A few, spread over the areas: the first of each number of rows."""
    names = list(dict.fromkeys(row.mutation for row in rows() if "/oracle/" not in row.test))
    return names[:: max(1, len(names) // SAMPLE)][:SAMPLE]


@FORKS
def test_recorded_tests_fail_under_a_sample_of_mutations() -> None:
    run_all(*sample())


@FORKS
@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("CLEW_SOAK") != "1", reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(7200)
def test_recorded_tests_fail_under_every_mutation_and_pass_without() -> None:
    run_all("--control")
    run_all()


def run_all(*words: str) -> None:
    command = [sys.executable, "-m", "tests.mutations", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# -- the means


def plain(value: int, more: int = 1, *, times: int = 1) -> int:
    return (value + more) * times


def counting(stop: int) -> Iterator[int]:
    yield from range(stop)


async def later(value: int) -> int:
    return value


@lru_cache
def remembered(value: int) -> int:
    return value


class Thing:
    def __init__(self, size: int) -> None:
        self.size = size

    def grown(self, by: int) -> int:
        return self.size + by

    @property
    def half(self) -> int:
        return self.size // 2

    @cached_property
    def double(self) -> int:
        return self.size * 2

    @classmethod
    def small(cls) -> Thing:
        return cls(1)


class Special(Thing):
    def grown(self, by: int) -> int:
        return super().grown(by) * 10


def test_a_function_of_any_kind_is_wrapped_and_restored() -> None:
    patch = Patch()
    renamed, inner = plain, Special.grown
    for target in (plain, Thing.grown, Special.grown, Thing.half, Thing.double, Thing.small):

        @patch.wrap(target)
        def wrong(original, *args, **kwargs):  # type: ignore[no-untyped-def]
            made = original(*args, **kwargs)
            return Thing(made.size + 1000) if isinstance(made, Thing) else made + 1000

    @patch.wrap(counting)
    def fewer(original, stop):  # type: ignore[no-untyped-def]
        yield from original(stop - 1)

    @patch.wrap(remembered)
    def forgotten(original, value):  # type: ignore[no-untyped-def]
        return original(value) + 1

    assert (renamed(1), renamed(1, more=2, times=3)) == (1002, 1009)
    assert (Thing(4).grown(1), Thing(4).half, Thing(4).double, Thing.small().size) == (1005, 1002, 1008, 1001)
    assert inner(Special(4), 1) == 11050
    assert (list(counting(3)), remembered(5)) == ([0, 1], 6)
    patch.undo()
    remembered.cache_clear()
    assert (renamed(1, more=2, times=3), Special(4).grown(1), Thing(4).double, list(counting(2))) == (9, 50, 8, [0, 1])
    assert remembered(5) == 5


def test_a_mistake_in_a_mutation_is_reported() -> None:
    def unknown_name(original, value):  # type: ignore[no-untyped-def]
        return original(value).no_such_name

    def late(original, value):  # type: ignore[no-untyped-def]
        yield from original(value).no_such_name

    def sound(original, value):  # type: ignore[no-untyped-def]
        return original(None)  # raises in clew itself

    for wrong, is_mistake in ((unknown_name, True), (late, True), (sound, False)):
        reported: list[BaseException] = []
        patch = Patch(crashed=reported.append)
        patch.wrap(slug)(wrong)
        with pytest.raises((TypeError, AttributeError)):
            list(slug("/a"))
        patch.undo()
        assert bool(reported) == is_mistake, wrong


def test_a_mutation_that_does_not_take_the_parameters_of_its_function_is_refused() -> None:
    def none(original):  # type: ignore[no-untyped-def]
        return original()

    def renamed(original, value, *, factor):  # type: ignore[no-untyped-def]
        return original(value, times=factor)

    def renamed_default(original, value, more=1, *, factor=1):  # type: ignore[no-untyped-def]
        return original(value, more, times=factor)

    for wrong in (none, renamed, renamed_default):
        with pytest.raises(TypeError, match="does not take the parameters of plain"):
            Patch().wrap(plain)(wrong)


def test_a_coroutine_stays_one() -> None:
    import asyncio
    import inspect

    patch = Patch()

    @patch.wrap(later)
    async def wrong(original, value):  # type: ignore[no-untyped-def]
        return await original(value) + 1

    assert inspect.iscoroutinefunction(later)
    assert asyncio.run(later(1)) == 2
    patch.undo()
    assert asyncio.run(later(1)) == 1


def test_a_constant_is_set_where_it_was_imported_too() -> None:
    home, other = types.ModuleType("clew.home_of_it"), types.ModuleType("clew.other")
    vars(home)["LIMIT"] = vars(other)["LIMIT"] = limit = object()
    table = {"a": 1}
    patch = Patch()
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setitem(sys.modules, "clew.other", other)
        patch.set(home, "LIMIT", 5)
        patch.remove(table, "a")
        patch.item(table, "b", 2)
        assert (vars(home)["LIMIT"], vars(other)["LIMIT"], table) == (5, 5, {"b": 2})
        patch.undo()
    assert (vars(home)["LIMIT"], vars(other)["LIMIT"], table) == (limit, limit, {"a": 1})


@pytest.mark.parametrize("option", ["-I", "-P"])
def test_started_processes_are_reached_even_isolated_and_without_our_environment(option: str) -> None:
    inner = "from clew.wire.project_slug import slug; print(slug('/a/b'))"
    outer = f"""
import subprocess, sys
from tests.mutations.registry import apply
apply("layout.leading_dash_is_removed")
subprocess.run([sys.executable, {option!r}, "-c", {inner!r}], env={{"PATH": "/bin"}}, check=True)
"""
    done = subprocess.run([sys.executable, "-c", outer], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "a-b\n", done.stderr
    assert NAME not in os.environ
