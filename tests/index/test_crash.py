"""Kills and company: whatever happens to a refresh, the index ends as one that was made in one go."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.index import parallel_build
from clew.index.parallel_build import MIN_BYTES
from clew.index.session_index import Index
from tests.index.helper import Claude, append, call, contents, custom, fresh, prompt, reply, result, touch

REFRESH = (
    "import sys; from clew.index.session_index import Index; print(Index.open(*sys.argv[1:3]).refresh().is_complete)"
)
SLOWLY = """
import sys, clew.index.index_writer as write
from clew.index.session_index import Index
write.BATCH = 1 << 16  # many transactions
with Index.open(*sys.argv[1:3]) as index:
    index.refresh()
"""


def start(claude: Claude, script: str = REFRESH) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(claude.root), str(claude.cache)], stdout=subprocess.PIPE, text=True
    )


def lines(rng: random.Random, count: int) -> list[bytes]:
    found = []
    for number in range(count):
        text = " ".join(f"w{rng.randrange(5000)}" for _ in range(rng.randrange(5, 120)))
        identity = f"toolu_{rng.random()}"
        found += [prompt(text), call("Bash", identity, command=text[:80]), result(text, identity), reply(text)]
        if number % 10 == 0:
            found.append(custom(text[:30]))
    return found


def tree(claude: Claude, rng: random.Random, files: int, size: int) -> list[Path]:
    paths = []
    for number in range(files):
        path = claude.write(f"s{number}", *lines(rng, size))
        touch(path, days=number / 7)
        paths.append(path)
        if number % 4 == 0:
            paths.append(claude.put(claude.agent_path(f"s{number}", f"a{number}"), *lines(rng, size // 2)))
    return paths


def change(claude: Claude, rng: random.Random, paths: list[Path]) -> None:
    """Something happens to the transcripts: mostly they grow, and often by half a line."""
    path = rng.choice(paths)
    what = rng.random()
    if what < 0.75:
        line = b"".join(lines(rng, 1))
        append(path, line if what < 0.4 else line[: rng.randrange(1, len(line))])
    elif what < 0.85:
        path.write_bytes(b"".join(lines(rng, 10)))
    elif what < 0.92:
        target = path.parent.with_name(f"{path.parent.name}x") / path.name if path.parent.name[0] == "-" else path
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
        paths[paths.index(path)] = target
    elif len(paths) > 5:
        paths.remove(path)
        path.unlink()


def kill_often(claude: Claude, kills: int, seed: int, tmp_path: Path) -> int:
    rng = random.Random(seed)
    paths = tree(claude, rng, 24, 40)
    partial = 0
    for _ in range(kills):
        worker = start(claude, SLOWLY)
        time.sleep(rng.uniform(0.15, 1.2))
        for _ in range(rng.randrange(4)):
            change(claude, rng, paths)
        partial += worker.poll() is None
        worker.kill()
        worker.communicate()
    for path in paths:
        append(path, b"\n")
    with claude.open() as index:
        assert index.refresh().is_complete
        assert not index.reason
        for shard in index.shards:
            assert shard.execute("PRAGMA integrity_check").get == "ok"
            for table in ("said", "done"):
                shard.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
        assert contents(index) == fresh(claude, tmp_path / "fresh")
    return partial


def test_a_few_kills_leave_a_right_index(claude: Claude, tmp_path: Path) -> None:
    kill_often(claude, 10, 1, tmp_path)


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("CLEW_SOAK") != "1", reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(1800)
def test_many_kills_leave_a_right_index(claude: Claude, tmp_path: Path) -> None:
    assert kill_often(claude, 120, 2, tmp_path) > 5, "too few kills came in the middle of the work to show anything"


def test_several_processes_at_once_write_everything_once(claude: Claude, tmp_path: Path) -> None:
    rng = random.Random(5)
    paths = tree(claude, rng, 30, 60)
    workers = [start(claude) for _ in range(3)]
    for path in paths[:10]:
        append(path, *lines(rng, 2))
    assert {worker.communicate()[0].strip() for worker in workers} == {"True"}
    assert {worker.returncode for worker in workers} == {0}
    with claude.refreshed() as index:
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_a_refresh_that_cannot_write_in_time_says_so(claude: Claude) -> None:
    path = claude.write("a", prompt("an apple"))
    with claude.refreshed() as index, claude.open() as other:
        append(path, reply("a pear"))
        for shard in other.shards:
            shard.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        done = index.refresh(budget=0.1)
        assert time.monotonic() - began < 2
        assert not done.is_complete
        assert done.left == 1
        assert len(index.search("apple")) == 1
        for shard in other.shards:
            shard.execute("ROLLBACK")
        assert index.refresh().is_complete
        assert len(index.search("pear")) == 1


def test_a_large_build_uses_a_process_for_each_shard_and_tells_how_far_it_is(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    text = "word " * 20_000
    for number in range(MIN_BYTES // 800_000):
        claude.write(f"s{number}", *(prompt(f"{n} {text}", toolUseResult="x" * 100_000) for n in range(4)))
    heard: list[tuple[int, int]] = []
    with claude.open() as index:
        done = index.refresh(progress=lambda read, total: heard.append((read, total)))
        assert done.is_complete
        assert done.files == MIN_BYTES // 800_000
        assert done.pieces == 4 * done.files
        assert heard[-1][0] == heard[-1][1]
        assert len(index.search("word", limit=100)) == done.files
    with Index.open(claude.root, tmp_path / "other") as index:
        index.refresh(budget=1.2)
        assert index.refresh().is_complete
        assert sum(shard.execute("SELECT count(*) FROM piece").get for shard in index.shards) == done.pieces


def test_the_index_does_not_depend_on_the_number_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_build, "MIN_BYTES", 0)
    claude = Claude(tmp_path)
    for number in range(6):
        claude.write(f"s{number}", prompt(f"apple{number} tideGauge café"), prompt("second"))
    found = []
    for jobs in (1, 2, 8):
        with Index.open(claude.root, tmp_path / f"cache{jobs}") as index:
            done = index.refresh(jobs=jobs)
            found.append(contents(index))
        assert (done.is_complete, done.files, done.pieces, done.skipped) == (True, 6, 12, [])
    assert found[0] == found[1] == found[2]


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="the children of a process are looked up in /proc")
def test_a_killed_worker_of_a_build_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_build, "MIN_BYTES", 0)
    claude = Claude(tmp_path)
    for number in range(6):
        claude.write(f"s{number}", prompt(f"apple{number}"))
    with claude.open() as index, claude.open() as other, ThreadPoolExecutor() as pool:
        other.shards[0].execute("BEGIN IMMEDIATE")  # its worker waits
        refreshing = pool.submit(index.refresh, jobs=2)
        while not (worker := worker_of_shard(0)):
            assert not refreshing.done()
        os.kill(worker, signal.SIGKILL)
        other.shards[0].execute("ROLLBACK")
        done = refreshing.result(60)
        assert (done.is_complete, done.files) == (True, 6)
        assert all(index.search(f"apple{number}") for number in range(6))


def worker_of_shard(number: int) -> int:
    """The process that builds a shard, once it has begun; 0 before."""
    for task in os.listdir("/proc/self/task"):
        for child in Path(f"/proc/self/task/{task}/children").read_text().split():
            with contextlib.suppress(OSError):
                arguments = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
                if b"--index-shard" in arguments and arguments[-2] == b"%d" % number:
                    return int(child)
    return 0
