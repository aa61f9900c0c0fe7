"""What a poll of many small files holds of each, in a folder of 100,000 of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clew.collect.archive.sync_deleted_tree import sync_deleted_tree
from tests.collect.collect_fixture import World, line

FEW, MANY = 100, 900


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = World()
    yield made
    made.close()


def write_sessions(world: World, numbers: range) -> None:
    for number in numbers:
        world.write(f"projects/-p{number % 9}/{number:08x}-0000-4000-8000-000000000001.jsonl", line(number))


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def held_for_each(few: int, many: int) -> float:
    return (many - few) / (MANY - FEW)


def test_a_first_poll_holds_little_of_each_file(world: World) -> None:
    """The fields of each file would take 780 bytes."""
    write_sessions(world, range(10))
    world.poll()  # loads modules
    peaks = []
    for count in (FEW, MANY):
        other = World()
        write_sessions(other, range(count))
        peaks.append(peak(other.poll))
        other.close()
    assert held_for_each(*peaks) < 550


def test_the_deleted_tree_holds_little_of_each_session_that_is_there(world: World) -> None:
    """The facts of all sessions in the archive would take 1,180 bytes for each."""

    def sync() -> int:
        return sync_deleted_tree(world.archive, str(world.root))

    peaks = []
    for numbers in (range(10), range(10, FEW), range(FEW, MANY)):  # the first time loads modules
        write_sessions(world, numbers)
        world.poll()
        peaks.append(peak(sync))
    assert held_for_each(*peaks[1:]) < 600
