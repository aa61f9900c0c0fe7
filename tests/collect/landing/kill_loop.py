"""Kill hosts and ingesters of a landing zone again and again, then compare the store with what the hosts wrote.

    python -m tests.collect.landing.kill_loop delta|postgresql KILLS [SEED]

A program of its own: the processes are forked, which is only safe before the library for lakes has started its threads.
"""

from __future__ import annotations

import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.collect.landing.ingester import Ingester
from clew.collect.landing.lake_ingest import LakeIngest
from clew.collect.landing.open_ingest import open_ingest_store, open_landing_zone
from clew.collect.sinks.lake.duckdb_engine import DuckEngine
from clew.errors import StoreError
from tests.collect.collect_fixture import SHM, line
from tests.collect.landing.zone_fixture import Host, Target
from tests.collect.postgres import Cluster, furnished

HOSTS, INGESTERS = 3, 2  # both ingesters have the same part, by mistake
SESSIONS = 4
LOADED = (LakeIngest, DuckEngine)  # imported before the first fork, not used
_fork = multiprocessing.get_context("fork")


class GrowingHost:
    """A host whose sessions grow while its collector is killed."""

    def __init__(self, folder: Path, zone: str, chance: random.Random) -> None:
        self.host = Host(folder, zone)
        self.chance = chance
        self.paths = [
            self.host.root / f"projects/-p/{number:08}-0000-4000-8000-000000000000.jsonl" for number in range(SESSIONS)
        ]
        self.paths[0].parent.mkdir(parents=True)
        self.lines = 0

    def grow(self) -> None:
        with open(self.chance.choice(self.paths), "ab") as file:
            for _ in range(self.chance.randrange(1, 4)):
                file.write(line(self.lines, f"{self.host.folder.name} " + "x" * self.chance.randrange(300)))
                self.lines += 1


def put_again_and_again(host: Host) -> None:
    while True:
        host.send()


def ingest_again_and_again(zone: str, store: str, secret: str) -> None:
    while True:
        source, target = open_landing_zone(zone), open_ingest_store(store, secret)
        try:
            Ingester(source, target).run()
        except StoreError as error:
            if not error.retryable:
                raise
        finally:
            target.close()


def run(kind: str, kills: int, seed: int) -> None:
    folder = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None))
    cluster = Cluster.make().start() if kind == "postgresql" else None
    try:
        if cluster:
            store = furnished(cluster, "landed")
            cluster.user("ingest", "clew_writer")
            cluster.ask("GRANT clew_reader TO ingest")
            target = Target(store.address("ingest"), store)
        else:
            target = Target(f"delta:{folder / 'lake'}")
        kill_and_compare(folder, target, kills, random.Random(seed))
    finally:
        if cluster:
            cluster.remove()
        shutil.rmtree(folder, ignore_errors=True)


def kill_and_compare(folder: Path, target: Target, kills: int, chance: random.Random) -> None:
    zone = f"landing:{folder / 'zone'}"
    hosts = [GrowingHost(folder / f"host{number}", zone, chance) for number in range(HOSTS)]
    work: list[tuple[Callable[..., None], tuple[Any, ...]]] = [(put_again_and_again, (each.host,)) for each in hosts]
    work += [(ingest_again_and_again, (zone, target.address, target.secret))] * INGESTERS
    running = [_start(*each) for each in work]
    try:
        for _ in range(kills):
            end = time.monotonic() + chance.random() * 0.5
            while time.monotonic() < end:
                chance.choice(hosts).grow()
                time.sleep(0.005)
            victim = chance.randrange(len(work))
            assert running[victim].is_alive(), f"process {victim} has ended by itself"
            running[victim].kill()
            running[victim].join()
            running[victim] = _start(*work[victim])
    finally:
        for each in running:
            each.kill()
            each.join()
    compare(zone, target, hosts, kills)


def _start(task: Callable[..., None], values: tuple[Any, ...]) -> Any:
    process = _fork.Process(target=task, args=values)
    process.start()
    return process


def compare(zone: str, target: Target, hosts: list[GrowingHost], kills: int) -> None:
    for each in hosts:
        each.host.put()
    report = target.ingest(zone)
    wanted = Counter(row for each in hosts for row in each.host.lines())
    found = Counter(target.lines())
    lost, twice = wanted - found, found - wanted
    told = sum(row[0] for row in target.rows("lines", "fact_file"))
    turns = target.rows("host, file, turn", "fact_turn")
    streams = {row[0] for row in target.rows("host")}
    print(
        f"{kills} kills, {wanted.total()} lines: {lost.total()} lost, {twice.total()} twice; facts tell of {told} lines, "
        f"{len(turns) - len(set(turns))} turns twice; {len(streams)} hosts; {len(report.aside)} aside",
        flush=True,
    )
    assert not lost and not twice and told == wanted.total()
    assert len(turns) == len(set(turns)) and len(streams) == HOSTS and not report.aside


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
