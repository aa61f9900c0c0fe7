"""A link to a PostgreSQL server: opened when it is first needed, watched while it is used, opened anew after it was lost.

What leaves the machine goes through TLS with a certificate that is checked, unless the address says otherwise
(`?sslmode=…`, `?sslrootcert=FILE`). Everything that libpq reads works too: several hosts, service files, `~/.pgpass`.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clew.collect.sinks.postgres.postgres_errors import explained, missing_extra
from clew.errors import StoreError
from clew.system.environment import postgres_host

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise missing_extra() from None

SCHEMA_VERSION = 2
DEADLINE = 120.0  # seconds for a batch; the server commits one in less than a second
_LOCAL = ("", "localhost", "127.0.0.1", "::1")
_PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "clew",
}
_SYSTEM_ROOTS = 160_000  # the first libpq that takes the roots of the system

Connection = psycopg.Connection[Any]


class PostgresConnection:
    """One connection at a time. `name` tells the database without telling who comes, or with which password."""

    def __init__(self, address: str, password: str = "", deadline: float = DEADLINE) -> None:
        self.options = _options(address, password)
        self.name = _name(self.options)
        self.deadline = deadline
        self._connection: Connection | None = None

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """The connection, outside of a transaction. Raises StoreError; a connection that failed is given up."""
        with explained(self.name):
            connection = self._opened()
            watch = _Watch(connection, self.deadline)
            try:
                with watch:
                    yield connection
            except psycopg.Error:
                if connection.broken or watch.has_struck:
                    self.close()
                raise

    def _opened(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(**self.options, autocommit=True)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _Watch:
    """Cuts a connection that does not answer in time: behind some networks a dead one looks alive for hours."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self.has_struck = False
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._timer = threading.Timer(seconds, self._strike)
        self._timer.daemon = True

    def _strike(self) -> None:
        self.has_struck = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # it is gone already
            pass

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()
        self._socket.close()


def _options(address: str, password: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = dict(conninfo_to_dict(address))
    except psycopg.Error:  # its words would repeat the address, and the password in it
        raise StoreError(
            "The address of the PostgreSQL server cannot be read.",
            "unknown",
            False,
            hint="Write it as postgresql://user@host:5432/database; signs such as @ in it as %40.",
        ) from None
    if password:
        found["password"] = password
    if "sslmode" not in found and not _is_local(found):
        found["sslmode"] = "verify-full"
        if psycopg.pq.version() >= _SYSTEM_ROOTS:
            found.setdefault("sslrootcert", "system")
    return {**_PATIENCE, **found}


def _is_local(options: dict[str, Any]) -> bool:
    """Whether nothing leaves the machine; a service file says for itself what it wants."""
    named = str(options.get("hostaddr") or options.get("host") or ("" if "service" in options else postgres_host()))
    return all(host in _LOCAL or host.startswith(("/", "@")) for host in named.split(","))


def _name(options: dict[str, Any]) -> str:
    where = options.get("host") or options.get("hostaddr") or options.get("service") or ""
    port = f":{options['port']}" if "port" in options else ""
    return f"postgresql://{where}{port}/{options.get('dbname', '')}"
