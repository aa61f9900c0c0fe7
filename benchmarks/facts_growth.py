"""One session that grows turn by turn, sent to a real PostgreSQL after each: what the database writes for it.

    python -m benchmarks.facts_growth [--turns 5000] [--every 1] [--step 500]

For each step of turns it prints the bytes of the write-ahead log ÷ the bytes of the new lines, the rows of facts that
were inserted, updated or deleted per new turn, and the milliseconds of CPU of the collector per send (building the
facts, comparing and sending them). A turn has three lines of about 450 bytes: most of the log is rows and indexes.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

from clew.collect.masking import Policy
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.tables import PostgresFacts, PostgresLines
from clew.collect.sql.fact_cursor import FactCursor
from clew.collect.sql.sent_facts import SentFacts
from clew.facts.prices import load
from tests.collect.collect_fixture import World, session
from tests.collect.postgres import PASSWORD, Cluster, Store, furnished
from tests.collect.talks import growing_turn


class Written(NamedTuple):
    """What the database has written: bytes of its log, and rows of facts."""

    log: int
    rows: int


class Growth:
    """A session, an archive, and a store that is sent every poll."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.world = World()
        self.link = PostgresConnection(store.address("ada"), PASSWORD)
        lines = PostgresLines(self.link)
        facts = PostgresFacts(self.link, SentFacts.beside(self.world.connection, f"{lines.name}#facts"))
        archive = self.world.connection
        cursor = FactCursor(archive, facts.name, load(), clock=lambda: 0.0)  # never pauses
        self.deliveries = (
            Delivery(lines, SequenceCursor(archive, lines.name), archive, Policy()),
            Delivery(facts, cursor, archive, Policy()),
        )

    def send(self, data: bytes) -> float:
        """Append lines, collect and send them. Returns the seconds of CPU of sending."""
        self.world.append(session(1), data)
        self.world.poll()
        began = time.process_time()
        for delivery in self.deliveries:
            outcome = delivery.run(0.0)
            assert outcome is not None and outcome.error is None
        return time.process_time() - began

    def written(self) -> Written:
        with self.link.use() as connection:
            connection.execute("SELECT pg_stat_force_next_flush()")
        names = "relname IN ('fact_file', 'fact_turn', 'fact_reply', 'fact_call')"
        query = f"SELECT CAST(sum(n_tup_ins + n_tup_upd + n_tup_del) AS bigint) FROM pg_stat_user_tables WHERE {names}"
        [(log,)] = self.store.ask("SELECT CAST(pg_current_wal_lsn() - '0/0' AS bigint)")
        [(rows,)] = self.store.ask(query)
        return Written(log, rows)

    def close(self) -> None:
        self.link.close()
        self.world.close()


def measure(turns: int, every: int, step: int) -> float:
    """Grow a session and print a row for each step. Returns the bytes of the log ÷ those of the lines, over all."""
    cluster = Cluster.make()
    try:
        growth = Growth(furnished(cluster.start(), "growth"))
        try:
            return _grow(growth, turns, every, step)
        finally:
            growth.close()
    finally:
        cluster.remove()


def _grow(growth: Growth, turns: int, every: int, step: int) -> float:
    first = before = growth.written()
    total = size = sends = 0
    cpu = 0.0
    print(f"{'turns':>6} {'log ÷ lines':>12} {'rows per turn':>14} {'CPU ms per send':>16}")
    for number in range(0, turns, every):
        data = b"".join(growing_turn(n) for n in range(number, min(number + every, turns)))
        cpu += growth.send(data)
        size += len(data)
        sends += 1
        done = min(number + every, turns)
        if done % step < every:
            now = growth.written()
            log, rows = now.log - before.log, now.rows - before.rows
            print(
                f"{done:>6} {log / size:>12.2f} {rows / (sends * every):>14.2f} {1000 * cpu / sends:>16.1f}", flush=True
            )
            total += size
            before, size, sends, cpu = now, 0, 0, 0.0
    ratio = (before.log - first.log) / total
    print(f"over all {turns} turns, one send per {every}: log ÷ lines = {ratio:.2f} ({total / 1e6:.1f} MB of lines)")
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5000)
    parser.add_argument("--every", type=int, default=1, help="turns per send")
    parser.add_argument("--step", type=int, default=500, help="turns per printed row")
    options = parser.parse_args()
    measure(options.turns, options.every, options.step)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
