"""Measuring the collector: how fast it reads, how little it does while nothing happens, how much it holds.

python -m benchmarks.collect [--size 200M] [--keep DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import generate, parse_size
from benchmarks.measure import ROUNDS, Line, cpu_of, transcripts
from benchmarks.process_tree import measure_command

MANY = 10_000
START = 6.0  # seconds until a watcher has started and polled
IDLE = 12.0  # seconds of watching a folder in which nothing happens
LONG = 200 << 20  # bytes of one line

_POLL = """
import json, resource, sys, time
from clew.collect.job import CollectJob, open_collector

def cpu():
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return [use.ru_utime + use.ru_stime for use in spent]

job = CollectJob(sys.argv[1], sys.argv[2], redact=sys.argv[3] == "redact", jobs=int(sys.argv[4]) or None)
with open_collector(job) as collector:
    wall, before = time.perf_counter(), cpu()
    report = collector.poll()
    wall, after = time.perf_counter() - wall, cpu()
own, others = (end - start for start, end in zip(before, after))
print(json.dumps({"wall": wall, "cpu": own + others, "own": own, "lines": report.lines, "bytes": report.bytes,
                  "opened": report.opened}))
"""


def poll(root: Path, archive: Path, how: str = "", jobs: int = 0) -> dict[str, float]:
    """One poll in a process of its own, with so many processes that read; 0 is one for each core."""
    done = subprocess.run(_command(root, archive, how, jobs), check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def peak_memory(root: Path, archive: Path) -> float:
    """The megabytes of all processes of a first poll together."""
    shutil.rmtree(archive.parent, ignore_errors=True)
    return measure_command(_command(root, archive), os.environ).total_mb


def _command(root: Path, archive: Path, how: str = "", jobs: int = 0) -> list[str]:
    return [sys.executable, "-c", _POLL, str(root), str(archive), how, str(jobs)]


def measure(root: Path, scratch: Path) -> Iterator[Line]:
    yield from ingest(root, scratch)
    yield from giving_back(root, scratch / "plain" / "archive.db")
    yield from long_line(scratch)
    yield from many_files(scratch)
    yield from idle(root, scratch / "plain" / "archive.db")


def ingest(root: Path, scratch: Path) -> Iterator[Line]:
    files = transcripts(root)
    archive = scratch / "plain" / "archive.db"
    first, cat, wall = first_poll(root, archive)
    spread = poll(root, scratch / "spread" / "archive.db")
    size = first["bytes"] / 1e6
    yield Line("first poll: speed", size / first["cpu"], "MB/s", "≥ 20", size / first["cpu"] >= 20)
    yield Line("first poll: wall ÷ cat | sha256sum", first["wall"] / wall, "×")
    ratio = first["cpu"] / cat
    yield Line("first poll: CPU ÷ cat | sha256sum", ratio, "×", "≤ 3.5", ratio <= 3.5)
    yield Line("first poll, every core: CPU ÷ with one process", spread["cpu"] / first["cpu"], "×")
    yield Line("first poll, every core: wall ÷ with one process", spread["wall"] / first["wall"], "×")
    yield Line("first poll, every core: share of the process that writes", 100 * spread["own"] / spread["cpu"], "%")
    peak = peak_memory(root, scratch / "spread" / "archive.db")
    yield Line("first poll: peak memory of all processes", peak, "MB", "≤ 150", peak <= 150)
    stored = sum(path.stat().st_size for path in archive.parent.iterdir()) / 1e6
    yield Line("archive ÷ what was read", stored / size, "×", "≤ 1", stored <= size)
    again = poll(root, archive)
    yield Line(f"no-op poll, {len(files)} transcripts: CPU", again["cpu"] * 1000, "ms")
    masked = poll(root, scratch / "masked" / "archive.db", "redact")
    yield Line("first poll with secrets masked: speed", size / masked["cpu"], "MB/s")


def first_poll(root: Path, archive: Path) -> tuple[dict[str, float], float, float]:
    """Poll into a new archive with one process and hash the same files, by turns: the best poll, and the CPU and wall
    time of the hash.

    The last archive stays.
    """
    polls, hashed = [], []
    for _ in range(ROUNDS):
        shutil.rmtree(archive.parent, ignore_errors=True)
        polls.append(poll(root, archive, jobs=1))
        start = time.perf_counter()
        cpu = cpu_of(["sh", "-c", 'find "$0" -type f -exec cat {} + | sha256sum', str(root)], 1)
        hashed.append((cpu, time.perf_counter() - start))
    return min(polls, key=lambda each: each["cpu"]), min(hashed)[0], min(wall for _, wall in hashed)


def giving_back(root: Path, archive: Path) -> Iterator[Line]:
    from clew.collect.archive.reader import Archive

    with Archive.open(archive) as opened:
        start, size = time.process_time(), 0
        for file in opened.files():
            size += sum(map(len, opened.parts(file)))
        spent = time.process_time() - start
        same = all(opened.read(file) == (root / file.path).read_bytes() for file in opened.files())
    yield Line("giving everything back: speed", size / 1e6 / spent, "MB/s")
    yield Line("files that come back byte for byte", 100.0 * same, "%", "= 100", same)


def long_line(scratch: Path) -> Iterator[Line]:
    path = scratch / "long" / "projects" / "-long" / "3f2a0c5e-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir(parents=True)
    with open(path, "wb") as file:
        file.write(b'{"type":"user","text":"')
        for _ in range(LONG >> 20):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n')
    peak = peak_memory(scratch / "long", scratch / "long-archive" / "archive.db")
    path.unlink()
    yield Line(f"one line of {LONG >> 20} MiB: peak memory", peak, "MB", "≤ 150", peak <= 150)


def many_files(scratch: Path) -> Iterator[Line]:
    root = scratch / "many"
    for number in range(MANY):
        folder = root / "projects" / f"-p{number % 500}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"3f2a0c5e-0000-4000-8000-{number:012}.jsonl").write_bytes(b'{"type":"user","n":%d}\n' % number)
    archive = scratch / "many-archive" / "archive.db"
    first = poll(root, archive)
    yield Line(f"first poll of {MANY} small files: CPU", first["cpu"], "s")
    time.sleep(2.5)  # until their times can be trusted
    poll(root, archive)
    again = poll(root, archive)
    yield Line(f"no-op poll of {MANY} files: CPU", again["cpu"] * 1000, "ms", "≤ 400", again["cpu"] <= 0.4)
    yield Line(f"no-op poll of {MANY} files: opened", again["opened"], "files", "= 0", again["opened"] == 0)


def idle(root: Path, archive: Path) -> Iterator[Line]:
    """`clew collect --watch` as people run it, while nothing happens; its start is not counted."""
    clew = str(Path(sys.executable).with_name("clew"))
    command = [clew, "collect", "--watch", "--quiet", "--archive", str(archive), "--claude-dir", str(root)]
    watcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(START)
        before = _cpu_of_process(watcher.pid)
        time.sleep(IDLE)
        share = 100 * (_cpu_of_process(watcher.pid) - before) / IDLE
    finally:
        watcher.terminate()
        watcher.wait()
    yield Line("watching while nothing happens: CPU", share, "%", "≤ 1", share <= 1)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1 if sys.platform == "linux" else 1024) / 1024
    yield Line("watching: peak memory of any process here", peak, "MB", "≤ 250", peak <= 250)


def _cpu_of_process(process: int) -> float:
    """The seconds of CPU that a running process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the collector on a generated tree.")
    parser.add_argument("--size", type=parse_size, default=200_000_000)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    is_met = True
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "claude"
        if not (root / "projects").exists():
            print(f"Writing {options.size / 1e6:.0f} MB of sessions …", file=sys.stderr)
            generate(root, options.size, 1, options.size // 10)
        for line in measure(root, Path(scratch)):
            print(line, flush=True)
            is_met = is_met and line.is_met
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
