"""A host that puts objects into a landing zone, and what a store has of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.collect.config import SinkConfig
from clew.collect.job import CollectJob, lock_archive, open_collector
from clew.collect.landing.ingester import Ingester, IngestReport, Part
from clew.collect.landing.open_ingest import open_ingest_store, open_landing_zone
from clew.collect.sinks.address import deliveries
from clew.collect.sinks.lake.delta_tables import Lake
from clew.collect.sinks.outbox import DeliveryOutcome
from clew.demo.talk import talk
from clew.demo.tool_inputs import bash
from tests.collect.postgres import PASSWORD, Store


class Host:
    """A folder of sessions with an archive, whose only sink is a landing zone."""

    def __init__(self, folder: Path, zone: str, token_file: str = "") -> None:
        self.folder = folder
        self.root = folder / "claude"
        self.zone = zone
        self.token_file = token_file
        self.archive = folder / "archive" / "archive.db"
        self.root.mkdir(parents=True, exist_ok=True)

    def talk(self, name: str, turns: int = 2) -> None:
        """Write a session; the same name grows by further turns."""
        spoken = talk(seed=name)
        for number in range(turns):
            spoken = spoken.user(f"{name} asks {number}").reply(f"answer {number}", call=bash("ls")).result("a.txt")
        for path, content in spoken.contents():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            written = target.stat().st_size if target.exists() else 0
            with open(target, "ab") as file:
                file.write(content[written:])

    def send(self, config: SinkConfig | None = None) -> list[DeliveryOutcome]:
        """Collect and put what is new."""
        job = CollectJob(str(self.root), str(self.archive))
        sink = config or SinkConfig(self.zone, token_file=self.token_file, reveal=True)
        with lock_archive(job), open_collector(job) as collector:
            collector.poll()
            with deliveries(collector, [sink]) as waiting:
                return [outcome for each in waiting if (outcome := each.run(0.0)) is not None]

    def put(self) -> None:
        for outcome in self.send():
            assert outcome.error is None, outcome

    def say(self, name: str, turns: int) -> list[bytes]:
        """Put a session that is deleted afterwards; return its lines."""
        before = set(self.root.rglob("*.jsonl"))
        self.talk(name, turns)
        self.put()
        [file] = set(self.root.rglob("*.jsonl")) - before
        lines = file.read_bytes().splitlines()
        file.unlink()
        return lines

    def lines(self) -> list[bytes]:
        """Every line of its sessions, in order."""
        files = sorted(self.root.rglob("*.jsonl"))
        return sorted(line for file in files for line in file.read_bytes().splitlines())


def ingest(zone: str, store: str, part: Part | None = None, *, secret: str = "", **options: Any) -> IngestReport:
    """Run an ingester once."""
    with opened(zone, store, secret) as (source, target):
        return Ingester(source, target, part, **options).run()


@contextmanager
def opened(zone: str, store: str, secret: str = "") -> Iterator[Any]:
    source, target = open_landing_zone(zone), open_ingest_store(store, secret)
    try:
        yield source, target
    finally:
        target.close()
        source.close()


class Target:
    """A store that is filled by an ingester: a lake in a folder, or a database."""

    def __init__(self, address: str, store: Store | None = None) -> None:
        self.address = address
        self.store = store

    @property
    def secret(self) -> str:
        return PASSWORD if self.store else ""

    def ingest(self, zone: str, part: Part | None = None, **options: Any) -> IngestReport:
        return ingest(zone, self.address, part, secret=self.secret, **options)

    def rows(self, columns: str, table: str = "line") -> list[tuple[Any, ...]]:
        """The values of columns, in order; of facts only those of the newest version."""
        if self.store:
            return sorted(self.store.ask(f"SELECT {columns} FROM clew.{table}"))
        names = [name.strip() for name in columns.split(",")]
        if table == "line":
            found = Lake(self.address, "", {}).table("line").to_pyarrow_table(columns=names).to_pylist()
            return sorted(tuple(row[name] for name in names) for row in found)
        from clew.collect.sql.open_store import open_engine

        with open_engine(self.address) as engine, engine.run(f"SELECT {columns} FROM {table}") as answer:
            return sorted(answer.rows)

    def lines(self) -> list[bytes]:
        return sorted(bytes(row[0]) for row in self.rows("raw"))


def expected(hosts: Sequence[Host]) -> list[bytes]:
    return sorted(line for host in hosts for line in host.lines())
