"""Simulated hosts: sessions that grow over days, as the objects that real hosts put into a landing zone.

A few sessions are written, collected and turned into facts by the code of the collector, step by step. Each simulated host
puts them under names of its own, so that thousands of hosts do not need thousands of archives.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw

from clew.collect.archive.archive_schema import open_archive
from clew.collect.collector import Collector
from clew.collect.landing.folder_zone import Zone
from clew.collect.landing.object_codec import ObjectHeader, encode_object
from clew.collect.landing.object_name import Kind, ObjectName
from clew.collect.masking import Policy
from clew.collect.sinks.outbox import SequenceCursor
from clew.collect.sinks.paced_cursors import PacedFactCursor
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_tables import TABLES, FileFacts, Value
from clew.demo.talk import talk
from clew.demo.tool_inputs import bash
from clew.facts.prices import load

TEMPLATES = 8
FIRST_DAY = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)  # a Monday
_KEY = bytes(32)
_RENAMED = ("session", "reply", "call")  # columns whose values are different on each host


class Step(NamedTuple):
    """What a session gains between two puts: its new lines, and the facts of all of its lines."""

    records: list[Record]
    facts: list[FileFacts]


def write_template(number: int, days: int, puts: int, turns: int) -> list[Step]:
    """Collect the sessions of a host, one for each day, each growing with every put."""
    steps = []
    with TemporaryDirectory() as folder:
        root = Path(folder) / "claude"
        root.mkdir()
        connection = open_archive(f"{folder}/archive.db")
        for day in range(days):
            spoken = talk(seed=f"{number} {day}", start=FIRST_DAY + timedelta(days=day), step=timedelta(minutes=2))
            for put in range(puts):
                for turn in range(turns):
                    spoken = spoken.user(f"step {put} {turn} " + "please " * 20)
                    spoken = spoken.reply("done " * 60, call=bash("make")).result("ok " * 120)
                for path, content in spoken.contents():
                    (root / path).parent.mkdir(parents=True, exist_ok=True)
                    (root / path).write_bytes(content)
                Collector(str(root), connection, _KEY).poll()
                steps.append(_read_step(connection))
        connection.close()
    return steps


def _read_step(connection: apsw.Connection) -> Step:
    lines = SequenceCursor(connection, "lines")
    facts = PacedFactCursor(connection, "facts", load())
    records = []
    for batch in lines.batches(Policy()):
        records += batch
        lines.accept(batch)
    files = []
    for made in facts.batches(Policy()):
        files += made
        facts.accept(made)
    return Step(records, files)


class SimulatedHost:
    """Puts the steps of a template as its own objects."""

    def __init__(self, number: int, zone: Zone, steps: list[Step]) -> None:
        self.name = f"host-{number:05}"
        self.epoch = sha256(self.name.encode()).hexdigest()[:32]
        self.zone = zone
        self.steps = steps
        self.number = self.mark = 0
        self.lines = self.bytes = self.packed = 0

    def put(self, step: int, made: int) -> None:
        """Put the lines and the facts of a step."""
        records, facts = self.steps[step]
        own = [self._own_record(record) for record in records]
        self._put("lines", own, made)
        self._put("facts", [self._own_facts(each) for each in facts], made + 1)
        self.lines += len(own)
        self.bytes += sum(record.length for record in own)

    def _put(self, kind: Kind, items: list[Record] | list[FileFacts], made: int) -> None:
        header = ObjectHeader(kind, self.name, self.epoch, self.number + 1, self.mark, made)
        body = encode_object(header, items)
        name = ObjectName(self.name, self.epoch, self.number + 1, self.mark, sha256(body).hexdigest(), kind)
        self.zone.put(name.key, body)
        self.number, self.mark = name.number, name.mark
        self.packed += len(body)

    def _own_record(self, record: Record) -> Record:
        raw = (record.raw or b"").replace(b'"msg_', b'"msg_' + self.name.encode())
        raw = raw.replace(b'"toolu_', b'"toolu_' + self.name.encode())
        return record._replace(host=self.epoch, session=self._own_name(record.session), raw=raw)

    def _own_name(self, value: Value) -> str:
        return f"{self.name}-{value}"

    def _own_facts(self, facts: FileFacts) -> FileFacts:
        rows = {
            table.name: [self._own_row(list(table.columns), row) for row in facts.rows[table.name]] for table in TABLES
        }
        return facts._replace(host=self.epoch, rows=rows)

    def _own_row(self, columns: list[str], row: tuple[Value, ...]) -> tuple[Value, ...]:
        values = dict(zip(columns, row, strict=True))
        values |= {"host": self.epoch, "developer": self.name, "machine": self.name}
        return tuple(self._own_name(value) if name in _RENAMED else value for name, value in values.items())


def make_hosts(count: int, zone: Zone, templates: list[list[Step]]) -> Iterator[SimulatedHost]:
    for number in range(count):
        yield SimulatedHost(number, zone, templates[number % len(templates)])
