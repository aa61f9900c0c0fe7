"""Read the lines of a PostgreSQL store, as far as the user may read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from clew.collect.mirror.store_reader import (
    KEY_COLUMNS,
    NAME_COLUMNS,
    FilePart,
    FileState,
    HostState,
    Inventory,
    StoredLine,
    columns_of_line,
)
from clew.collect.sinks.postgres.connection import Connection, PostgresConnection
from clew.errors import StoreError
from clew.system.environment import user_name

_DEADLINE = 600.0  # seconds for one query
_KEYS = ", ".join(f"l.{name}" for name in KEY_COLUMNS)
_NAMES = ", ".join(f"l.{name}" for name in NAME_COLUMNS)
_RIGHTS = """
SELECT has_table_privilege('clew.line', 'SELECT'), has_table_privilege('clew.host', 'SELECT'),
  coalesce(has_table_privilege(to_regclass('clew.erased')::oid, 'SELECT'), false)
"""
_ERASED = "SELECT count(*) FROM clew.erased"
_LINE_HOSTS = "SELECT host, max(seq) FROM clew.line GROUP BY host"
_HOSTS = "SELECT host, seq FROM clew.host"
_OWNERS = """
SELECT DISTINCT ON (host) host, developer, machine, team FROM clew.fact_file WHERE developer <> ''
ORDER BY host, seq DESC
"""
_INVENTORY = f"""
SELECT {_KEYS}, max(ARRAY[lpad(l.seq::text, 20, '0'), {_NAMES}]), max(l.seq), count(*), max(l.start + l.length),
  coalesce(min(nullif(l.day, '')), ''), max(l.day), max(l.time_ms), sum(l.masked)
FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS w(host, seq, last)
  JOIN clew.line l ON l.host = w.host AND l.seq > w.seq AND l.seq <= w.last
GROUP BY {_KEYS}
"""
_LINES = f"""
SELECT {", ".join(f"l.{name}" for name in columns_of_line())}
FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[])
  AS w(host, file, generation, start, stop, first_day, last_day)
JOIN clew.line l ON l.host = w.host AND l.file = w.file AND l.generation = w.generation
  AND l.start >= w.start AND l.start < w.stop AND (l.day = '' OR (l.day >= w.first_day AND l.day <= w.last_day))
ORDER BY l.host, l.file, l.start
"""
DENIED = "denied"
_NUMBERS = (
    "Ask the owner for the role that reads contents. Numbers: clew sql --store … "
    '"SELECT day, developer, sum(cost_micros) FROM usage_daily GROUP BY day, developer"'
)


class PostgresReader:
    """Reads `clew.line`. What row-level security hides is not there."""

    def __init__(self, address: str, password: str) -> None:
        self.link = PostgresConnection(address, password, _DEADLINE)
        self.name = self.link.name
        self.user = str(self.link.options.get("user") or user_name())
        self._sees_hosts = True
        self._erased: tuple[Any, ...] | None = None

    def hosts(self) -> dict[str, HostState]:
        """Return the hosts, and note how far erasures are. A reader of a team does not see how far hosts are."""
        with self._reading() as connection:
            rights = connection.execute(_RIGHTS).fetchone() or (False, False, False)
            if not rights[0]:
                raise StoreError("", DENIED, False)
            self._sees_hosts = rights[1]
            hosts = {
                str(host): HostState(seq) for host, seq in connection.execute(_HOSTS if rights[1] else _LINE_HOSTS)
            }
            self._erased = connection.execute(_ERASED).fetchone() if rights[2] else None
        for host, *owner in self._owners():
            if host in hosts:
                hosts[host] = HostState(hosts[host].seq, *owner)
        return hosts

    def _owners(self) -> list[tuple[Any, ...]]:
        """Return who each host belongs to; nothing if the tables are of a version that does not say."""
        try:
            with self._reading() as connection:
                return connection.execute(_OWNERS).fetchall()
        except StoreError as error:
            if error.kind not in (DENIED, "version"):
                raise
            return []

    def inventory(self, hosts: Mapping[str, HostState], known: Mapping[str, int], position: Any) -> Inventory:
        """Ask only for hosts that sent something. If one is gone, or not as far as it was, everything is read."""
        erased = self._erased[0] if self._erased else 0
        is_altered = position is not None and position != erased
        is_behind = any(host not in hosts or seq > hosts[host].seq for host, seq in known.items())
        is_full = position is None or is_behind or is_altered or not self._sees_hosts
        after = {host: 0 if is_full else known.get(host, 0) for host, state in hosts.items()}
        new = {host: seq for host, seq in after.items() if is_full or hosts[host].seq != seq}
        last = [hosts[host].seq for host in new]
        files: list[FileState] = []
        if new:
            with self._reading() as connection:
                rows = connection.execute(_INVENTORY, (list(new), list(new.values()), last)).fetchall()
            files = [FileState._make((*row[:3], *row[3][1:], *row[4:-1], int(row[-1]))) for row in rows]
        return Inventory(files, is_full, erased, is_altered)

    def lines(self, parts: Sequence[FilePart]) -> Iterator[StoredLine]:
        columns = [list(column) for column in zip(*parts, strict=True)]
        with self._reading() as connection:
            rows = connection.execute(_LINES, columns, binary=True).fetchall()
        yield from map(StoredLine._make, rows)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Open a read-only transaction. Raises StoreError; a user who may read numbers alone is told so."""
        try:
            with self.link.use() as connection, connection.transaction(force_rollback=True):
                connection.execute("SET TRANSACTION READ ONLY")
                yield connection
        except StoreError as error:
            if error.kind != DENIED:
                raise
            message = f"{self.name} does not let {self.user} read what was said, only numbers or nothing."
            raise StoreError(message, DENIED, False, hint=_NUMBERS) from None

    def close(self) -> None:
        self.link.close()
