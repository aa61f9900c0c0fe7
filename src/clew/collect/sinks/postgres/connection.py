"""A PostgreSQL connection that opens on demand, times out, and reopens after a loss.

Remote connections use TLS with a verified certificate unless the address says otherwise (`?sslmode=…`,
`?sslrootcert=FILE`). Everything that libpq reads works too: several hosts, service files, `~/.pgpass`.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clew.collect.sinks.postgres.postgres_errors import missing_extra, translate_errors
from clew.collect.sinks.postgres.store_version import StoreLayout, read_layout
from clew.errors import StoreError
from clew.system.environment import postgres_host

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise missing_extra() from None

BATCH_DEADLINE = 120.0  # seconds for a batch; a server commits one in less than a second (measured)
_LOCAL_HOSTS = ("", "localhost", "127.0.0.1", "::1")
_TIMEOUTS = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "clew",
}
_SYSTEM_ROOTS_VERSION = 160_000  # the first libpq that supports `sslrootcert=system`

Connection = psycopg.Connection[Any]


class PostgresConnection:
    """One connection at a time. `name` identifies the database without user or password."""

    def __init__(self, address: str, password: str = "", deadline: float = BATCH_DEADLINE) -> None:
        self.options = _connection_options(address, password)
        self.name = _public_name(self.options)
        self.deadline = deadline
        self._connection: Connection | None = None
        self._layout: StoreLayout | None = None

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Yield the connection, outside of a transaction. Raises StoreError; a broken connection is closed."""
        with translate_errors(self.name):
            connection = self._open()
            watch = _DeadlineWatch(connection, self.deadline)
            try:
                with watch:
                    yield connection
            except psycopg.Error:
                if connection.broken or watch.has_expired:
                    self.close()
                raise

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(**self.options, autocommit=True)
            self._layout = None
        return self._connection

    def layout(self, connection: Connection) -> StoreLayout:
        """Return the layout of the store, read once per connection. Raises StoreError if it has another version."""
        if self._layout is None:
            self._layout = read_layout(connection, self.name)
        return self._layout

    @property
    def retention(self) -> str:
        """What the store keeps and for how long, as far as its layout was read."""
        return self._layout.retention if self._layout else ""

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _DeadlineWatch:
    """Shuts down a connection that does not answer in time: on some networks a dead one looks alive for hours."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self.has_expired = False
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._timer = threading.Timer(seconds, self._shut_down)
        self._timer.daemon = True

    def _shut_down(self) -> None:
        self.has_expired = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # already closed
            pass

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()
        self._socket.close()


def _connection_options(address: str, password: str) -> dict[str, Any]:
    try:
        options: dict[str, Any] = dict(conninfo_to_dict(address))
    except psycopg.Error:  # the message of psycopg would repeat the password
        hint = "Write it as postgresql://user@host:5432/database; signs such as @ in it as %40."
        raise StoreError("The address of the PostgreSQL server cannot be read.", "unknown", False, hint=hint) from None
    if password:
        options["password"] = password
    if "sslmode" not in options and not _is_local(options):
        options["sslmode"] = "verify-full"
        if psycopg.pq.version() >= _SYSTEM_ROOTS_VERSION:
            options.setdefault("sslrootcert", "system")
    return {**_TIMEOUTS, **options}


def _is_local(options: dict[str, Any]) -> bool:
    """Return whether the connection stays on this machine; a service file decides for itself."""
    hosts = str(options.get("hostaddr") or options.get("host") or ("" if "service" in options else postgres_host()))
    return all(host in _LOCAL_HOSTS or host.startswith(("/", "@")) for host in hosts.split(","))


def _public_name(options: dict[str, Any]) -> str:
    server = options.get("host") or options.get("hostaddr") or options.get("service") or ""
    port = f":{options['port']}" if "port" in options else ""
    return f"postgresql://{server}{port}/{options.get('dbname', '')}"
