"""A fleet in small: simulated hosts put growing sessions into a landing zone, and a real ingester fills a real store.

    python -m benchmarks.fleet [--to delta|postgresql] [--hosts 10 100 500 2000] [--days 5] [--puts 4] [--turns 4]

The clock is simulated: all hosts put what a few hours brought, then the ingester runs, day by day for a working week.
What is measured (CPU, commits, files, bytes) is put into the model of docs/scale.md, whose volumes are those of 3,377 real
transcripts.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow

from benchmarks.fleet_hosts import FIRST_DAY, TEMPLATES, Step, make_hosts, write_template
from clew.collect.landing.folder_zone import FolderZone
from clew.collect.landing.ingester import Ingester
from clew.collect.landing.open_ingest import open_ingest_store
from clew.collect.sinks.lake.delta_tables import TABLE_NAMES, Lake
from clew.collect.sql.open_store import open_engine
from tests.collect.postgres import PASSWORD, Cluster, furnished

DEVELOPERS = (10, 1_000, 10_000, 100_000)
TRANSCRIPTS = 10  # of a developer in a day, agents too: assumed, see docs/scale.md
LINES, BYTES = 170, 435_000  # of a transcript: 572,495 lines and 1.47 GB in 3,377 (counted)
HOURS, DAYS = 8, 230  # of work in a day, and in a year
PUTS_A_DAY = 48  # of a host that watches: every ten minutes
PEAK = 4  # times the mean of the working hours
DISK, OBJECTS, PUT, GET = (
    0.10,
    0.023,
    5e-6,
    4e-7,
)  # dollars: GB-month of a volume and of S3, a PUT or LIST, a GET (list prices)
STORED = {
    "delta": 0.27,
    "postgresql": 1.6,
}  # ÷ lines sent, of 61 MB of sessions: the simulated ones resemble each other
PACKED = 0.29  # the same
CPU_PER_MB = {"delta": 0.045, "postgresql": 0.1}  # seconds, ingester and server, in bulk: the same
_TICK = os.sysconf("SC_CLK_TCK")
_SHM = Path("/dev/shm")


@dataclass(slots=True)
class FleetRun:
    """What a week of so many hosts took."""

    hosts: int
    objects: int = 0
    lines: int = 0
    sent: int = 0
    packed: int = 0
    commits: int = 0
    files: int = 0
    stored: int = 0
    wal: int = 0
    ingester_cpu: float = 0.0
    server_cpu: float = 0.0
    seconds: float = 0.0
    slowest: float = 0.0

    @property
    def cpu(self) -> float:
        return self.ingester_cpu + self.server_cpu

    def __str__(self) -> str:
        return (
            f"{self.hosts:>6,} hosts: {self.objects:,} objects, {self.lines:,} lines, {self.sent / 1e6:,.1f} MB "
            f"({self.packed / 1e6:,.1f} MB packed); {self.commits} commits, {self.files} files, "
            f"{self.stored / 1e6:,.1f} MB stored, {self.wal / 1e6:,.1f} MB of WAL; "
            f"CPU {self.ingester_cpu:.1f} s ingester, {self.server_cpu:.1f} s server "
            f"({1000 * self.cpu / self.objects:.2f} ms an object); slowest round {self.slowest:.1f} s"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", choices=("delta", "postgresql"), default="delta")
    parser.add_argument("--hosts", type=int, nargs="+", default=[10, 100, 500, 2000])
    parser.add_argument("--days", type=int, default=5)
    parser.add_argument("--puts", type=int, default=4, help="of each host in a day")
    parser.add_argument("--turns", type=int, default=4, help="between two puts")
    options = parser.parse_args()
    templates = [write_template(n, options.days, options.puts, options.turns) for n in range(TEMPLATES)]
    runs = []
    for count in options.hosts:
        folder = Path(tempfile.mkdtemp(prefix="clew-fleet-", dir=_SHM if _SHM.is_dir() else None))
        try:
            runs.append(run_week(count, folder, templates, options.to, options.puts))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(runs[-1], flush=True)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    for row in model(runs[-1], options.to):
        print(row)
    return 0


def run_week(count: int, folder: Path, templates: list[list[Step]], kind: str, puts: int) -> FleetRun:
    """Let the hosts put and the ingester commit, round by round; then compare and measure the store."""
    if kind == "delta":
        address = f"delta:{folder / 'lake'}"
        run = _rounds(count, folder, templates, address, "", puts, 0)
        _measure_lake(run, address)
        return run
    cluster = Cluster.make().start()
    try:
        store = furnished(cluster, "fleet")
        cluster.user("ingest", "clew_writer")
        cluster.ask("GRANT clew_reader TO ingest")
        [(empty, lsn)] = store.ask("SELECT pg_database_size('fleet'), pg_current_wal_lsn()::text")
        pid = cluster.process.pid if cluster.process else 0
        run = _rounds(count, folder, templates, store.address("ingest"), PASSWORD, puts, pid)
        wal = f"pg_wal_lsn_diff(pg_current_wal_lsn(), '{lsn}')::bigint"
        [(size, run.wal, lines)] = store.ask(f"SELECT pg_database_size('fleet'), {wal}, count(*) FROM clew.line")
        run.stored = size - empty
        _compare(run, int(lines))
        return run
    finally:
        cluster.remove()


def _rounds(
    count: int, folder: Path, templates: list[list[Step]], address: str, secret: str, puts: int, pid: int
) -> FleetRun:
    zone = FolderZone(str(folder / "zone"))
    store = open_ingest_store(address, secret)
    hosts = list(make_hosts(count, zone, templates))
    run = FleetRun(count)
    before, start = _cpu(pid), time.perf_counter()
    first = int(FIRST_DAY.timestamp() * 1000)
    for step in range(len(templates[0])):
        now = first + step // puts * 86_400_000 + step % puts * (HOURS * 3_600_000 // puts)
        for host in hosts:
            host.put(step, now)
        began, used = time.perf_counter(), time.process_time()
        report = Ingester(zone, store).run()
        run.ingester_cpu += time.process_time() - used
        run.slowest = max(run.slowest, time.perf_counter() - began)
        run.objects += report.objects
        run.commits += report.commits
    store.close()
    run.server_cpu, run.seconds = _cpu(pid) - before, time.perf_counter() - start
    run.lines, run.sent, run.packed = (
        sum(getattr(host, name) for host in hosts) for name in ("lines", "bytes", "packed")
    )
    return run


def _measure_lake(run: FleetRun, address: str) -> None:
    lake = Lake(address, "", {})
    for name in TABLE_NAMES:
        sizes = pyarrow.table(lake.table(name).get_add_actions(flatten=True))["size_bytes"].to_pylist()
        run.files += len(sizes)
        run.stored += sum(sizes)
    _compare(run, int(lake.table("line").to_pyarrow_dataset().count_rows()))
    with open_engine(address) as engine, engine.run("SELECT count(*), count(DISTINCT host) FROM sessions") as answer:
        [(sessions, hosts)] = answer.rows
    if hosts != run.hosts:
        raise SystemExit(f"the views have {sessions} sessions of {hosts} hosts")


def _compare(run: FleetRun, arrived: int) -> None:
    """Numbers of a store that lost something would be worth nothing."""
    if arrived != run.lines:
        raise SystemExit(f"the store has {arrived} lines of {run.lines}")


def _cpu(pid: int) -> float:
    """Seconds of a process and of its children, also of those that have ended: a server has one for each connection."""
    if not pid:
        return 0.0
    ended = sum(map(int, _fields(Path(f"/proc/{pid}/stat"))[11:15]))
    running = [path for path in Path("/proc").glob("[0-9]*/stat") if _parent(path) == pid]
    return (ended + sum(sum(map(int, _fields(path)[11:13])) for path in running)) / _TICK


def _fields(path: Path) -> list[str]:
    return path.read_text().rpartition(")")[2].split()


def _parent(path: Path) -> int:
    try:
        return int(_fields(path)[1])
    except OSError:  # it has ended
        return 0


def model(run: FleetRun, kind: str) -> Iterator[str]:
    """The table of docs/scale.md, from what was measured."""
    yield ""
    yield f"{'developers':<52}" + "".join(f"{number:>14,}" for number in DEVELOPERS)
    gigabytes = [number * TRANSCRIPTS * BYTES / 1e9 for number in DEVELOPERS]
    objects = [number * PUTS_A_DAY * 2 for number in DEVELOPERS]
    stored = STORED[kind]
    cpu = [
        count * run.cpu / run.objects + size * 1000 * CPU_PER_MB[kind]
        for count, size in zip(objects, gigabytes, strict=True)
    ]
    month = DAYS / 12
    price = OBJECTS if kind == "delta" else DISK
    rows: dict[str, list[float]] = {
        "lines a day, millions": [number * TRANSCRIPTS * LINES / 1e6 for number in DEVELOPERS],
        "GB a day": gigabytes,
        "objects a day, thousands": [count / 1000 for count in objects],
        "objects put a second at the peak": [count / HOURS / 3600 * PEAK for count in objects],
        "GB in the zone for a day": [size * PACKED for size in gigabytes],
        "requests of hosts and ingester, dollars a month": [count * (PUT + GET) * month for count in objects],
        "CPU of ingesting a day, hours": [seconds / 3600 for seconds in cpu],
        "cores at the peak": [seconds / HOURS / 3600 * PEAK for seconds in cpu],
        f"{kind}: GB after a year": [size * DAYS * stored for size in gigabytes],
        f"{kind}: dollars a month for that": [size * DAYS * stored * price for size in gigabytes],
    }
    for name, values in rows.items():
        yield f"{name:<52}" + "".join(f"{value:>14,.{_digits(value)}f}" for value in values)


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 1 else 3


if __name__ == "__main__":
    sys.exit(main())
