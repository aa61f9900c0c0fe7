"""Kills, full disks, failing calls and jumping clocks: 0 lines lost, 0 twice."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.collect.archive.reader import Archive
from clew.collect.collector_lock import hold_lock
from clew.errors import Busy
from tests.collect.cases import ONE, TWO
from tests.collect.collect_fixture import SHM, World, line, session
from tests.collect.worker import work

SOAKS = os.environ.get("CLEW_SOAK") == "1"
FILES = 20


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """On the disk, but for long runs, which would wear it out."""
    place = SHM / f"clew-{os.getpid()}" if SOAKS and SHM.is_dir() else tmp_path
    yield place
    if place != tmp_path:
        shutil.rmtree(place, ignore_errors=True)


class Growth:
    """Files that grow as Claude Code's do: several lines in a write, now and then cut anywhere."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.paths = [root / session(n % 10, f"projects/-p{n // 10}") for n in range(FILES)]
        for path in self.paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        self.chance = chance
        self.waiting = dict.fromkeys(self.paths, b"")
        self.lines = 0

    def go_on(self) -> None:
        path = self.chance.choice(self.paths)
        new = b"".join(
            line(self.lines + n, "x" * self.chance.randrange(300)) for n in range(self.chance.randrange(1, 5))
        )
        self.lines += new.count(b"\n")
        data = self.waiting[path] + new
        cut = self.chance.randrange(len(data) + 1) if self.chance.random() < 0.4 else len(data)
        self.waiting[path] = data[cut:]
        with open(path, "ab") as file:
            file.write(data[:cut])

    def finish(self) -> None:
        for path, data in self.waiting.items():
            with open(path, "ab") as file:
                file.write(data)


def kill_again_and_again(folder: Path, kills: int) -> None:
    chance = random.Random(5)
    root, archive, sink = folder / "claude", folder / "archive" / "archive.db", folder / "out.jsonl"
    growth = Growth(root, chance)
    context = multiprocessing.get_context("fork")
    for _ in range(kills):
        collector = context.Process(target=work, args=(str(root), str(archive), str(sink)))
        collector.start()
        end = time.monotonic() + chance.random() * 0.06
        while time.monotonic() < end:
            growth.go_on()
            time.sleep(0.001)
        collector.kill()
        collector.join()
    growth.finish()
    work(str(root), str(archive), str(sink), 1)
    _is_all_there(root, archive, sink, growth)


def _is_all_there(root: Path, archive: Path, sink: Path, growth: Growth) -> None:
    there = {str(path.relative_to(root)): path.read_bytes() for path in growth.paths if path.stat().st_size}
    assert sum(data.count(b"\n") for data in there.values()) == growth.lines
    with Archive.open(archive) as opened:
        assert {file.path: opened.read(file) for file in opened.files()} == there
        assert [file.number for file in opened.files()] == [1] * len(there)
        assert opened.connection.execute("PRAGMA integrity_check").get == "ok"
    rows = [json.loads(row) for row in sink.read_bytes().splitlines()]
    names = [(row["file"], row["generation"], row["offset"]) for row in rows]
    assert len(set(names)) == len(names) == growth.lines, "delivered twice, or not at all"
    delivered: dict[str, list[bytes]] = {}
    for row in sorted(rows, key=lambda row: row["offset"]):
        delivered.setdefault(row["file"], []).append(row["raw"].encode() + b"\n")
    assert {path: b"".join(lines) for path, lines in delivered.items()} == there


def test_a_collector_that_is_killed_loses_nothing_and_keeps_nothing_twice(folder: Path) -> None:
    kill_again_and_again(folder, 40)


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(1800)
def test_a_thousand_kills(folder: Path) -> None:
    kill_again_and_again(folder, 1000)


def _limited(root: str, archive: str, sink: str, size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the failure is meant
    work(root, archive, sink, 1)


@pytest.mark.parametrize("room", [40_000, 90_000, 150_000, 400_000])
def test_a_file_that_may_not_grow_fails_cleanly_and_is_complete_later(folder: Path, room: int) -> None:
    root, archive, sink = folder / "claude", folder / "archive" / "archive.db", folder / "out.jsonl"
    growth = Growth(root, random.Random(room))
    for _ in range(600):
        growth.go_on()
    growth.finish()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_limited, args=(str(root), str(archive), str(sink), room))
    process.start()
    process.join()
    assert process.exitcode in ((0, 1) if room > 300_000 else (1,))
    work(str(root), str(archive), str(sink), 1)
    _is_all_there(root, archive, sink, growth)


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("call", ["posix/io/rw/read", "posix/io/rw/write", "posix/io/rw/pwrite", "posix/io/sync/fsync"])
def test_calls_that_fail_at_random_lose_nothing(folder: Path, call: str) -> None:
    """libfiu makes the system's own calls fail: with EIO, ENOSPC and others."""
    if sys.platform != "linux":
        pytest.skip("libfiu is made for Linux")
    if not shutil.which("fiu-run"):
        pytest.fail("fiu-run is missing: scripts/prepare-tests installs it")
    root, archive, sink = folder / "claude", folder / "archive" / "archive.db", folder / "out.jsonl"
    growth = Growth(root, random.Random(7))
    work(str(root), str(archive), str(sink), 1)
    script = [sys.executable, "-c", _FAULTY, call]
    for _ in range(25):
        for _ in range(30):
            growth.go_on()
        command = ["fiu-run", "-x", "-f", "", *script, str(root), str(archive), str(sink)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    growth.finish()
    work(str(root), str(archive), str(sink), 1)
    _is_all_there(root, archive, sink, growth)


_FAULTY = """
import ctypes, sys
from tests.collect.worker import work
fiu = ctypes.CDLL("libfiu.so.0")  # begins to fail when everything is imported
fiu.fiu_enable_random(sys.argv[1].encode(), 1, None, 0, ctypes.c_float(0.05))
work(*sys.argv[2:5], 3)
"""


def test_a_clock_that_jumps_loses_nothing() -> None:
    chance = random.Random(3)
    world = World()
    year = 365 * 86_400 * 10**9
    try:
        for number in range(30):
            now = time.time_ns() + chance.choice([-year, -1, 0, 1, year])
            world.now = lambda now=now: now
            world.append(ONE, line(number))
            report = world.poll()
            assert report.lines == 1
            assert report.scrubbed <= 1
            assert world.kept() == world.there()
        assert len(world.generations(ONE)) == 1
    finally:
        world.close()


def test_two_collectors_do_not_work_at_once(folder: Path) -> None:
    root, archive, sink = folder / "claude", folder / "archive" / "archive.db", folder / "out.jsonl"
    Growth(root, random.Random(1)).go_on()
    work(str(root), str(archive), str(sink), 1)
    with hold_lock(str(archive.with_suffix(".lock"))), pytest.raises(Busy):
        work(str(root), str(archive), str(sink), 1)
    work(str(root), str(archive), str(sink), 1)


@pytest.mark.req("R327")
def test_a_file_that_grows_while_it_is_read_is_taken_to_the_end(folder: Path) -> None:
    """A process writes all the time; each poll takes whole lines, and the last has them all."""
    root, archive, sink = folder / "claude", folder / "archive" / "archive.db", folder / "out.jsonl"
    context = multiprocessing.get_context("fork")
    path = root / TWO
    path.parent.mkdir(parents=True)
    path.touch()
    writer = context.Process(target=_write, args=(path,))
    writer.start()
    while writer.is_alive():
        work(str(root), str(archive), str(sink), 3)
    writer.join()
    work(str(root), str(archive), str(sink), 1)
    with Archive.open(archive) as opened:
        [file] = opened.files()
        assert (file.number, file.lines, opened.read(file)) == (1, 400, path.read_bytes())


def _write(path: Path) -> None:
    with open(path, "ab", buffering=0) as file:
        for number in range(400):
            data = line(number, "é" * (number % 70))
            file.write(data[:30])
            file.write(data[30:])
            time.sleep(0.0005)
