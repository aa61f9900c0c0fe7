"""A server dies under load and another takes over: all rows, none twice."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clew.collect.masking import Policy
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.tables import PostgresFacts, PostgresLines
from clew.collect.sql.fact_cursor import FactCursor
from clew.collect.sql.sent_facts import SentFacts
from clew.errors import StoreError
from clew.facts.prices import load
from tests.collect.collect_fixture import KEY, World, session
from tests.collect.postgres import PASSWORD, Cluster, Store, furnished
from tests.collect.test_tables import said

SOAKS = bool(os.environ.get("CLEW_SOAK"))
PATIENCE = 90.0  # seconds until all must have arrived


@contextmanager
def pair() -> Iterator[tuple[Store, Cluster]]:
    """A primary that confirms nothing before its standby has it, and the standby."""
    primary = Cluster.make()
    standby: Cluster | None = None
    try:
        store = furnished(primary.start(), "team")
        standby = primary.standby().start()
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.ask("SELECT pg_reload_conf()")
        end = time.monotonic() + PATIENCE
        while primary.ask("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
            assert time.monotonic() < end, "the standby never came"
            time.sleep(0.05)
        yield store, standby
    finally:
        for cluster in (primary, standby):
            if cluster is not None:
                cluster.remove()


class Host:
    """A machine that goes on collecting and sending, whatever becomes of the server."""

    def __init__(self, address: str, rounds: int, pairs: int) -> None:
        self.world = World()
        self.rounds, self.pairs = rounds, pairs
        self.accepted = 0
        self.errors: list[str] = []
        self.is_done = False
        link = PostgresConnection(address, PASSWORD, deadline=10.0)
        lines = PostgresLines(link)
        facts = PostgresFacts(link, SentFacts.beside(self.world.connection, f"{lines.name}#facts"))
        archive = self.world.connection
        self.deliveries: list[Delivery[Any]] = [
            Delivery(lines, SequenceCursor(archive, lines.name), archive, Policy(KEY)),
            Delivery(facts, FactCursor(archive, facts.name, load(), clock=lambda: 0.0), archive, Policy(KEY)),
        ]
        self.link = link
        self.thread = threading.Thread(target=self.work)

    def work(self) -> None:
        for number in range(self.rounds):
            first = number * self.pairs
            self.world.append(session(1), b"".join(said(first + n, day=1 + number % 5) for n in range(self.pairs)))
            self.world.poll()
            self.send()
        end = time.monotonic() + PATIENCE
        while not self.send() and time.monotonic() < end:
            time.sleep(0.05)
        self.is_done = True
        self.link.close()

    def send(self) -> bool:
        """Whether all that was waiting went; without patience, so that the server is tried all the time."""
        is_whole = True
        for delivery in self.deliveries:
            delivery.not_before = 0.0
            outcome = delivery.run(time.monotonic())
            assert outcome is not None
            self.accepted += outcome.sent
            if outcome.error:
                assert outcome.error.retryable, outcome.error
                self.errors.append(outcome.error.kind)
                is_whole = False
        return is_whole


def fail_over(hosts: int, rounds: int, pairs: int, moment: float) -> None:
    """Kill the primary when about so much of all has been accepted, and promote the standby."""
    with pair() as (store, standby):
        ports = f"127.0.0.1:{store.cluster.port},127.0.0.1:{standby.port}"
        address = f"postgresql://ada@{ports}/team?target_session_attrs=read-write"
        assert refusal(Store(standby, "team")) == ("read-only", True)
        working = [Host(address, rounds, pairs) for _ in range(hosts)]
        try:
            for host in working:
                host.thread.start()
            goal = hosts * rounds * pairs * 2 * moment
            while sum(host.accepted for host in working) < goal:
                assert any(host.thread.is_alive() for host in working)
                time.sleep(0.002)
            store.cluster.kill()
            accepted = sum(host.accepted for host in working)
            standby.promote()
            for host in working:
                host.thread.join()
            assert all(host.is_done for host in working)
            assert sum(len(host.errors) for host in working) >= 1
            assert accepted < hosts * rounds * pairs * 2
            judge(Store(standby, "team"), hosts, rounds * pairs)
        finally:
            for host in working:
                host.thread.join(PATIENCE)
                host.world.close()


def refusal(store: Store) -> tuple[str, bool]:
    world = World()
    link = PostgresConnection(store.address("ada"), PASSWORD)
    try:
        world.write(session(1), said(0))
        world.poll()
        [record] = next(SequenceCursor(world.connection, "x").batches(Policy(KEY)))[:1]
        with pytest.raises(StoreError) as caught:
            PostgresLines(link).write([record])
        return caught.value.kind, caught.value.retryable
    finally:
        link.close()
        world.close()


def judge(store: Store, hosts: int, pairs: int) -> None:
    lines = "SELECT count(*), count(DISTINCT (host, file, generation, start)) FROM clew.line"
    assert store.ask(lines) == [(hosts * pairs * 2,) * 2]
    assert store.ask("SELECT count(*), min(seq), max(seq) FROM clew.host") == [(hosts, pairs * 2, pairs * 2)]
    for table, column in (("fact_turn", "turn"), ("fact_reply", "reply")):
        query = f"SELECT count(*), count(DISTINCT (host, file, {column})) FROM clew.{table}"
        assert store.ask(query) == [(hosts * pairs,) * 2]


def test_a_killed_primary_loses_nothing_and_repeats_nothing() -> None:
    """A standby alone is no place to write to, and says so; the next try may find it promoted."""
    fail_over(hosts=2, rounds=20, pairs=15, moment=0.4)


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", range(10))
def test_a_killed_primary_at_any_moment(number: int) -> None:
    chance = random.Random(number)
    fail_over(hosts=chance.randint(1, 8), rounds=40, pairs=chance.randint(1, 60), moment=chance.uniform(0.05, 0.8))
