"""Several processes read: the archive is that of one process, whatever happens to files, workers and the collector."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import astuple

from clew.collect.archive.archive_schema import open_archive
from clew.collect.archive.verify_contents import verify_archive
from clew.collect.collector import Collector
from clew.collect.fingerprint import compute_chain, extend_chain
from clew.collect.masking import Policy
from clew.collect.prepared_lines import Precursor
from clew.collect.read_ahead import from_plain, prepare_chunks
from clew.collect.read_limits import ReadLimits
from tests.collect.collect_fixture import KEY, World, line, session

LIMITS = {"block": 2048, "stream_above": 9000, "max_stored": 60_000, "commit_bytes": 100_000, "spread_above": 0}
TABLES = ("file", "generation", "content", "pack", "occurrence", "quarantine")
SECRET = "ghp_" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2"
FILES = 14
IN_PROC = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="workers are found in /proc")


@pytest.fixture
def world() -> Iterator[World]:
    made = World(**LIMITS)
    for number in range(FILES):
        made.write(session(number % 10, f"projects/-p{number // 10}"), _transcript(random.Random(number)))
    yield made
    made.close()


def _transcript(chance: random.Random) -> bytes:
    """Short and long lines, lines that other files have too, damage, secrets, and often half a line at the end."""
    lines = []
    for number in range(chance.randrange(100, 400)):
        size = chance.choice((0, 10, 300, 2010, 2048, 5000))
        lines.append(line(chance.randrange(10**6), "x" * chance.randrange(size + 1)))
        if chance.random() < 0.02:
            lines.append(
                chance.choice((b"\n", b"not json\n", b'{"a":1}{"b":2}\n', line(1, SECRET), line(7, "y" * 12_000)))
            )
        if chance.random() < 0.1:
            lines.append(line(number % 5))
    lines.append(line(3, "z" * 50_000))
    return b"".join(lines) + chance.choice((b"", b'{"half":', line(9)[:-1]))


def _poll(world: World, name: str, jobs: int, policy: Policy = Policy(), **options: Any) -> apsw.Connection:  # noqa: B008
    """Poll into an archive of its own."""
    connection = open_archive(str(world.folder / f"{name}.db"))
    clock = lambda: 10**18  # noqa: E731
    limits = ReadLimits(**LIMITS)
    collector = Collector(str(world.root), connection, KEY, limits=limits, policy=policy, jobs=jobs, clock=clock)
    collector.poll(**options)
    return connection


def _rows(connection: apsw.Connection) -> dict[str, list[Any]]:
    return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}


def _children_cpu() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


@pytest.mark.parametrize("policy", [Policy(), Policy(KEY)], ids=["plain", "masked"])
def test_the_archive_does_not_depend_on_the_number_of_processes(world: World, policy: Policy) -> None:
    alone = _rows(_poll(world, "alone", 1, policy))
    before = _children_cpu()
    spread = _rows(_poll(world, "spread", 3, policy))
    assert _children_cpu() > before  # workers ran
    assert len(alone["occurrence"]) > 3000 and len(alone["quarantine"]) > 20
    for table in TABLES:
        assert spread[table] == alone[table], table


def test_files_that_grew_do_not_depend_on_the_number_of_processes(world: World) -> None:
    for name, jobs in (("alone", 1), ("spread", 3)):
        _poll(world, name, jobs).close()
    for number in range(0, FILES, 2):
        world.append(session(number % 10, f"projects/-p{number // 10}"), b"\n" + _transcript(random.Random(-number)))
    alone, spread = (_poll(world, name, jobs) for name, jobs in (("alone", 1), ("spread", 3)))
    for table in TABLES:
        assert _rows(spread)[table] == _rows(alone)[table], table
    assert verify_archive(spread).is_sound


def test_a_worker_computes_checksums_as_long_as_it_knows_the_lines_before(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(_transcript(random.Random(1)))
    size = (tmp_path / "a.jsonl").stat().st_size
    read = prepare_chunks((str(tmp_path), None, [], astuple(ReadLimits(**LIMITS))))
    before = Precursor(7, 0, 0, KEY)
    starts = range(0, size, LIMITS["block"])
    chunks = [from_plain(*read(("a.jsonl", 0, start, None if start else (*before,)))) for start in starts]
    assert any(chunk.long for chunk in chunks) and any(chunk.lines for chunk in chunks)
    for chunk in chunks:
        if lines := chunk.lines:
            sums = lines.compute_sums(before)
            assert sums is lines.sums and sums == lines._replace(sums=None).compute_sums(before)
            before = Precursor(7, before.offset + lines.size, before.lines + len(sums.sums), sums.chain)
            other = lines.compute_sums(before)
            assert other.before == before and other != sums
        if chunk.long:
            chain = extend_chain(before.chain, [chunk.long.hash])
            before = Precursor(7, before.offset + chunk.long.length, before.lines + 1, chain)
    with open(tmp_path / "a.jsonl", "rb", buffering=0) as file:
        assert before.chain == compute_chain(file, before.offset, KEY, ReadLimits())
    later = next(start for start, chunk in zip(starts, chunks, strict=True) if start and chunk.lines)
    unknown = from_plain(*read(("a.jsonl", 0, later, None)))
    assert unknown.lines and unknown.lines.sums is None


def test_files_that_change_while_workers_read_are_read_again(world: World) -> None:
    paths = sorted((world.root / "projects").rglob("*.jsonl"))

    def change(done: int, total: int) -> None:
        chance = random.Random(done)
        path = chance.choice(paths)
        if chance.random() < 0.5:
            with open(path, "ab") as file:
                file.write(line(done, "appended"))
        else:
            path.write_bytes(path.read_bytes().swapcase())

    limits = ReadLimits(**LIMITS)
    Collector(str(world.root), world.connection, KEY, limits=limits, jobs=3).poll(progress=change)
    world.poll()
    assert world.kept() == world.there()


@IN_PROC
def test_a_poll_ends_well_when_a_worker_is_killed(world: World) -> None:
    killed = threading.Event()

    def kill_a_worker() -> None:
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        while not killed.is_set():
            for child in children.read_text().split():
                os.kill(int(child), signal.SIGKILL)
                killed.set()
                break

    killer = threading.Thread(target=kill_a_worker)
    killer.start()
    try:
        spread = _rows(_poll(world, "spread", 2))
        assert killed.is_set()
    finally:
        killed.set()
        killer.join()
    assert spread == _rows(_poll(world, "alone", 1))


_CHILD = """
import sys
from clew.collect.archive.archive_schema import open_archive
from clew.collect.collector import Collector
from clew.collect.read_limits import ReadLimits
from tests.collect.collect_fixture import KEY
from tests.collect.test_read_ahead import LIMITS
collector = Collector(sys.argv[1], open_archive(sys.argv[2]), KEY, limits=ReadLimits(**LIMITS), jobs=2)
collector.poll(progress=lambda done, total: print(done, flush=True))
"""


@IN_PROC
@pytest.mark.parametrize("files", [1, 5, 12])
def test_nothing_is_lost_or_doubled_when_the_collector_is_killed(world: World, files: int) -> None:
    world.connection.close()
    command = [sys.executable, "-c", _CHILD, str(world.root), world.path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout
        for _ in range(files):
            assert child.stdout.readline()
        child.kill()
    deadline = time.monotonic() + 10
    while _session_is_alive(child.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _session_is_alive(child.pid)  # no worker is left
    world.connection = world.open()
    world.poll()
    world.poll()
    assert not verify_archive(world.connection).damaged
    assert world.kept() == world.there()
    assert all(reason == "new" for path in world.there() for reason, _ in world.generations(path))


def _session_is_alive(session_id: int) -> bool:
    """Return whether a worker of a session runs."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(path.name)) == session_id and b"--worker" in (path / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False
