"""A fleet on paper and in small: simulated hosts against a real PostgreSQL and a real S3 server, and what follows for many.

    python -m benchmarks.fleet [--hosts 4] [--size 10M] [--seconds 5]

Each host is a `clew collect` of its own with its own archive. What is measured here (bytes stored, CPU of the servers,
commits that a table takes) is put into the model of docs/scale.md, whose volumes are those of 3,377 real transcripts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import generate, parse_size
from clew.collect.archive.reader import Archive
from clew.collect.sinks.lake.delta_tables import Lake, build_table
from clew.collect.sinks.outbox import DELIVERABLE
from clew.collect.sinks.paced_cursors import COMMIT_INTERVAL
from clew.errors import StoreError
from tests.collect.postgres import PASSWORD, Cluster, furnished
from tests.collect.s3 import S3

DEVELOPERS = (10, 1_000, 100_000)
TRANSCRIPTS = 10  # of a developer in a day, agents too: assumed, see docs/scale.md
LINES, BYTES = 170, 435_000  # of a transcript: 572,495 lines and 1.47 GB in 3,377 (counted)
HOURS, DAYS = 8, 230  # of work in a day, and in a year
PEAK = 4  # times the mean of the working hours
TABLES = 5
PUTS = 3  # objects for each commit: its rows under one or two days, and the commit itself
DISK, OBJECTS, PUT = 0.10, 0.023, 5e-6  # dollars: GB-month of a block volume and of S3, and one PUT (list prices)
_SENT = "SELECT count(*) FROM occurrence o JOIN generation g ON g.id = o.generation JOIN file f ON f.id = g.file"
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Measured:
    """What one store took in a run: per byte of the lines, and how much of the server's time."""

    name: str
    hosts: int
    megabytes: float
    seconds: float
    stored: float
    cpu: float

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.hosts} hosts sent {self.megabytes:.1f} MB in {self.seconds:.1f} s; "
            f"stored {self.stored / self.megabytes:.2f} × that; {self.cpu / self.megabytes:.3f} s of the server's CPU per MB"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=4, choices=range(1, 41), metavar="1..40")
    parser.add_argument("--size", type=parse_size, default=10_000_000, help="of the sessions of each host")
    parser.add_argument("--seconds", type=float, default=5.0, help="of commits to one table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        hosts = [_host(Path(scratch) / str(number), options.size, number) for number in range(options.hosts)]
        database = to_postgres(hosts)
        print(database, flush=True)
        lake, commits = to_lake(hosts, options.seconds)
        print(lake, flush=True)
        print(f"S3: {commits:.1f} commits/s to one table by {options.hosts} writers at once", flush=True)
    for row in model(database, lake, commits):
        print(row)
    return 0


def _host(folder: Path, size: int, seed: int) -> Path:
    """A host whose archive is filled, so that only the sending is measured."""
    generate(folder / "claude", size, seed + 1)
    _collect(folder).wait()
    return folder


def _collect(folder: Path, *more: str, **environment: str) -> subprocess.Popen[bytes]:
    options = ["--claude-dir", str(folder / "claude"), "--archive", str(folder / "archive.db"), "--lean", "--quiet"]
    command = [sys.executable, "-m", "clew", "collect", *options, *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment})


def _send(hosts: list[Path], *more: str, **environment: str) -> float:
    """All hosts at once; seconds until the last is done."""
    start = time.perf_counter()
    running = [_collect(host, *more, **environment) for host in hosts]
    if any([process.wait() for process in running]):  # noqa: C419 - all of them are waited for
        raise SystemExit("a host could not deliver")
    return time.perf_counter() - start


def _megabytes(hosts: list[Path]) -> float:
    return sum(file.stat().st_size for host in hosts for file in host.rglob("*.jsonl")) / 1e6


def _compare(name: str, arrived: int, hosts: list[Path]) -> None:
    """Numbers of a store that lost something would be worth nothing."""
    sent = 0
    for host in hosts:
        with Archive.open(host / "archive.db") as archive:
            query = f"{_SENT} WHERE {DELIVERABLE}"
            sent += int(archive.connection.execute(query).get)
    if arrived != sent:
        raise SystemExit(f"{name} has {arrived} lines of {sent}")


def _cpu(pid: int) -> float:
    """Seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICK


def to_postgres(hosts: list[Path]) -> Measured:
    cluster = Cluster.make().start()
    try:
        store = furnished(cluster, "fleet")
        assert cluster.process is not None
        before, empty = _cpu(cluster.process.pid), _database_size(cluster)
        with tempfile.NamedTemporaryFile("w", suffix=".password") as file:
            file.write(PASSWORD)
            file.flush()
            seconds = _send(hosts, "--to", store.address("ada"), "--token-file", file.name)
        _compare("PostgreSQL", int(store.ask("SELECT count(*) FROM clew.line")[0][0]), hosts)
        stored = (_database_size(cluster) - empty) / 1e6
        return Measured(
            "PostgreSQL", len(hosts), _megabytes(hosts), seconds, stored, _cpu(cluster.process.pid) - before
        )
    finally:
        cluster.remove()


def _database_size(cluster: Cluster) -> int:
    return int(cluster.ask("SELECT pg_database_size('fleet')")[0][0])


def to_lake(hosts: list[Path], seconds: float) -> tuple[Measured, float]:
    server = S3()
    try:
        before = _cpu(server.process.pid)
        took = _send(hosts, "--to", server.address("fleet"), **server.environment)
        used = _cpu(server.process.pid) - before
        lake = Lake(server.address("fleet"), "", server.environment)
        _compare("the lake", int(lake.table("line").to_pyarrow_dataset().count_rows()), hosts)
        stored = sum(_table_size(lake, name) for name in ("line", "fact_file", "fact_turn", "fact_reply", "fact_call"))
        measured = Measured("lake on S3", len(hosts), _megabytes(hosts), took, stored / 1e6, used)
        return measured, commit_rate(server, len(hosts), seconds)
    finally:
        server.close()


def _table_size(lake: Lake, name: str) -> int:
    import pyarrow

    return int(sum(pyarrow.table(lake.table(name).get_add_actions(flatten=True))["size_bytes"].to_pylist()))


def commit_rate(server: S3, writers: int, seconds: float) -> float:
    """Commits to one table in a second, by writers that do nothing else."""
    done = [0] * writers
    end = time.monotonic() + seconds

    def commit(number: int) -> None:
        lake = Lake(server.address("rate"), "", server.environment)
        row = (f"host{number}", 1, "p", "p", "s", "", 1, "", 0, "", "prompt", "complete", 0, 0, 0, 0, "", 1, 1)
        while time.monotonic() < end:
            try:
                lake.add("fact_turn", build_table("fact_turn", [row], ["2026-01-01"]))
                done[number] += 1
            except StoreError as error:
                if not error.retryable:
                    raise

    Lake(server.address("rate"), "", server.environment).table("fact_turn")
    threads = [threading.Thread(target=commit, args=(number,)) for number in range(writers)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.monotonic() - start)


def model(database: Measured, lake: Measured, commits: float) -> Iterator[str]:
    """The table of docs/scale.md, from what was measured."""
    in_database, in_lake = database.stored / database.megabytes, lake.stored / lake.megabytes
    yield ""
    yield f"{'developers':<44}" + "".join(f"{number:>14,}" for number in DEVELOPERS)
    per_day = [number * TRANSCRIPTS for number in DEVELOPERS]
    daily = [count * BYTES / 1e9 for count in per_day]
    mean = [gigabytes * 1000 / HOURS / 3600 for gigabytes in daily]
    sends = [number / COMMIT_INTERVAL for number in DEVELOPERS]
    rows: dict[str, list[float]] = {
        "transcripts a day": [float(count) for count in per_day],
        "lines a day, millions": [count * LINES / 1e6 for count in per_day],
        "GB a day": daily,
        "MB/s at the peak": [rate * PEAK for rate in mean],
        "PostgreSQL: GB after a year": [gigabytes * DAYS * in_database for gigabytes in daily],
        "PostgreSQL: cores of the server at the peak": [
            rate * PEAK * database.cpu / database.megabytes for rate in mean
        ],
        "PostgreSQL: dollars a month for the disk then": [g * DAYS * in_database * DISK for g in daily],
        "lake: GB after a year": [gigabytes * DAYS * in_lake for gigabytes in daily],
        "lake: dollars a month for objects then": [g * DAYS * in_lake * OBJECTS for g in daily],
        "lake: dollars a month for requests": [rate * 3600 * HOURS * DAYS / 12 * TABLES * PUTS * PUT for rate in sends],
        "lake: commits/s to each table": sends,
        "lake: share of what one table takes, %": [100 * rate / commits for rate in sends],
    }
    for name, values in rows.items():
        yield f"{name:<44}" + "".join(f"{value:>14,.{_digits(value)}f}" for value in values)


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 1 else 3


if __name__ == "__main__":
    sys.exit(main())
