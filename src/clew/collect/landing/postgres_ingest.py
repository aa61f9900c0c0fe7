"""Commit objects of a landing zone to PostgreSQL: rows and the last object of each host in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clew.collect.landing.ingest_store import StreamObject, last_states
from clew.collect.sinks.outbox import EPOCH, split_batches
from clew.collect.sinks.postgres.connection import Connection, PostgresConnection
from clew.collect.sinks.postgres.tables import PostgresFacts, PostgresLines
from clew.collect.sinks.record import Record
from clew.collect.sinks.store_check import StoreState
from clew.errors import StoreError

DEADLINE = 600.0  # seconds for a commit
_STATEMENT_ROWS, _STATEMENT_BYTES = 4_000, 32 << 20
_STATES = "SELECT host, seq, mark FROM clew.host WHERE host = ANY(%s)"
_LOCK = f"{_STATES} ORDER BY host FOR UPDATE"
_BEGIN = """
INSERT INTO clew.host (host, seq, mark) SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS n(host, seq, mark)
ORDER BY n.host ON CONFLICT DO NOTHING
"""
_EXTEND = """
UPDATE clew.host AS h SET seq = n.seq, mark = n.mark, seen = now()
FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS n(host, seq, mark) WHERE h.host = n.host
"""
_COUNT = """
SELECT count(DISTINCT (n.file, n.generation, n.start, n.hash))
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[]) AS n(file, generation, start, hash)
JOIN clew.line AS l ON l.host = %s AND l.file = n.file AND l.generation = n.generation AND l.start = n.start
  AND l.hash = n.hash
"""


class PostgresIngest:
    """Writes as one user of the role `clew_writer`; all ingesters of a store use the same."""

    def __init__(self, link: PostgresConnection) -> None:
        self.name = link.name
        self.link = link
        self._lines = PostgresLines(link)
        self._facts = PostgresFacts(link)

    def states(self, hosts: Iterable[str]) -> dict[str, StoreState]:
        with self.link.use() as connection:
            self.link.layout(connection)
            return _read_states(connection, _STATES, list(hosts))

    def has_records(self, host: str, records: Sequence[Record]) -> bool:
        names = {(record.file, record.generation, record.offset, record.hash) for record in records}
        with self.link.use() as connection:
            columns = [list(column) for column in zip(*names, strict=True)]
            return connection.execute(_COUNT, (*columns, host)).fetchone() == (len(names),)

    def commit(self, batch: Sequence[StreamObject], before: dict[str, StoreState]) -> None:
        after = last_states(batch, before)
        with self.link.use() as connection, connection.transaction():
            known = _read_states(connection, _LOCK, list(after))
            if known != {host: state for host, state in before.items() if host in after}:
                raise self._changed()
            self._move(connection, _EXTEND, {host: state for host, state in after.items() if host in known})
            self._move(connection, _BEGIN, {host: state for host, state in after.items() if host not in known})
            records = (record for each in batch for record in each.records)
            for part in split_batches(records, _STATEMENT_ROWS, _STATEMENT_BYTES):
                self._lines.write(part)
            if facts := [facts for each in batch for facts in each.facts]:
                self._facts.write(facts)

    def _move(self, connection: Connection, statement: str, states: dict[str, StoreState]) -> None:
        if states:
            columns = [list(states), *([state[n] for state in states.values()] for n in range(2))]
            if connection.execute(statement, columns).rowcount != len(states):
                raise self._changed()

    def _changed(self) -> StoreError:
        return StoreError(f"{self.name} is being filled by another ingester.", EPOCH, True)

    def tidy(self) -> None:
        """A database tidies up by itself."""

    def close(self) -> None:
        self.link.close()


def _read_states(connection: Connection, query: str, hosts: list[str]) -> dict[str, StoreState]:
    return {host: StoreState(seq, mark) for host, seq, mark in connection.execute(query, (hosts,)).fetchall()}
