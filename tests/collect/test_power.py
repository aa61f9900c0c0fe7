"""What is told to be in the archive is there: after a loss of power at any moment, and after a failure of any operation."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from clew.collect.archive import archive_schema
from tests.collect.collect_fixture import World, line, session
from tests.collect.power import Disk, Event, after_loss

ONE, TWO = session(1), session(2)
LOSSES = 150


@pytest.fixture
def world() -> Iterator[World]:
    made = World(commit_bytes=2000)
    yield made
    made.close()


def record(world: World, polls: int = 6) -> tuple[list[Event], list[tuple[int, dict[str, bytes]]]]:
    """Collect on a disk that remembers; the events, and what was safe behind how many of them."""
    disk = Disk(f"disk-{id(world)}")
    world.connection.close()
    shutil.rmtree(Path(world.path).parent)
    world.connection = world.open(disk.name)
    safe: list[tuple[int, dict[str, bytes]]] = []
    for number in range(polls):
        world.append(ONE, b"".join(line(100 * number + n, "x" * n) for n in range(20)))
        if number == 3:
            world.write(TWO, line(7777))
            world.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        if number == 4:
            world.write(TWO, line(8888) + line(9999))
        world.poll()
        safe.append((len(disk.events), world.there()))
    world.connection.close()
    disk.unregister()
    return disk.events, safe


def lose_power(world: World, losses: int) -> tuple[int, int]:
    """How often the archive was damaged, and how often something that was safe is lost, in so many losses."""
    events, safe = record(world)
    damaged = lost = 0
    for number in range(losses):
        chance = random.Random(number)
        until = chance.randrange(safe[0][0], len(events) + 1)
        folder = Path(world.path).parent
        shutil.rmtree(folder)
        folder.mkdir()
        for name, data in after_loss(events, until, chance).items():
            (folder / name).write_bytes(data)
        promised = max((each for each in safe if each[0] <= until), key=lambda each: each[0])[1]
        try:
            connection = world.open()
            world.connection = connection
            is_sound = connection.execute("PRAGMA integrity_check").get == "ok"
            kept = list(world.every_generation()) if is_sound else []
        except apsw.Error:
            is_sound, kept = False, []
        damaged += not is_sound
        lost += is_sound and any(not any(each.startswith(data) for each in kept) for data in promised.values())
        if is_sound:
            world.poll()
            assert world.kept() == world.there()
        connection.close()
    world.connection = world.open()
    return damaged, lost


def test_no_loss_of_power_takes_what_was_safe(world: World) -> None:
    assert lose_power(world, LOSSES) == (0, 0)


def test_the_simulation_can_tell() -> None:
    """With less syncing what was told to be safe is lost: the test above is able to fail."""
    less = archive_schema._PRAGMAS.replace("PRAGMA synchronous=FULL", "PRAGMA synchronous=NORMAL")
    assert less != archive_schema._PRAGMAS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive_schema, "_PRAGMAS", less)
        world = World(commit_bytes=2000)
        try:
            damaged, lost = lose_power(world, 30)
        finally:
            world.close()
    assert damaged == 0
    assert lost > 10


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
@pytest.mark.parametrize("kind", ["write", "sync"])
def test_any_operation_may_fail_and_nothing_is_lost(world: World, kind: str, error: type[apsw.Error]) -> None:
    """The n-th operation fails, for every n: then what is there is sound, and the next poll has all of it."""
    left = [10**9]

    def fails(asked: str) -> apsw.Error | None:
        left[0] -= asked == kind
        return error("this one fails") if left[0] == 0 else None

    disk = Disk(f"failing-{kind}-{error.__name__}", fails)
    for number in range(1, 60):
        world.connection.close()
        shutil.rmtree(Path(world.path).parent)
        left[0] = 10**9
        world.connection = world.open(disk.name)
        world.write(ONE, b"".join(line(n, "y" * n) for n in range(60)))
        left[0] = number
        has_failed = False
        try:
            world.poll()
        except apsw.Error:
            has_failed = True
        left[0] = 10**9
        world.connection.close()
        world.connection = world.open()
        assert world.connection.execute("PRAGMA integrity_check").get == "ok"
        world.poll()
        assert world.generations(ONE) == [("new", (world.root / ONE).read_bytes())]
        if not has_failed:
            break
    else:
        raise AssertionError("there are more operations than were tried")
    disk.unregister()
    assert number > 1
