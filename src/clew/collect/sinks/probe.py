"""Try a sink without sending anything of a session: can it be reached, may it be written to, is its version right."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from clew.collect.config import SinkConfig
from clew.collect.landing.landing_sink import LandingLines
from clew.collect.sinks.address import LAKE, OTLP, POSTGRES, check_sends, open_sink
from clew.collect.sinks.http import HttpSink
from clew.collect.sinks.outbox import POISON, Sink
from clew.errors import StoreError


def probe_sink(config: SinkConfig) -> str:
    """Return what was checked. Raises StoreError or Refused with what is wrong."""
    sink = open_sink(config.to, config.read_secret())
    try:
        check_sends(config, sink.name)
        if sink.name.startswith(POSTGRES):
            return _probe_postgres(sink)
        if sink.name.startswith(LAKE):
            return _probe_lake(sink)
        if isinstance(sink, LandingLines):
            sink.probe()
            return "an object may be put into the landing zone"
        if sink.name.startswith(OTLP) or isinstance(sink, HttpSink):
            return _probe_http(sink)
        return _probe_folder(config.to)
    finally:
        sink.close()


def _probe_postgres(sink: Any) -> str:
    with sink.link.use() as connection:
        sink.link.layout(connection)
        [may_write] = connection.execute("SELECT pg_has_role(session_user, 'clew_writer', 'USAGE')").fetchone()
        version = connection.info.server_version // 10_000
    if not may_write:
        raise StoreError(
            f"{sink.name} does not allow this user to write.",
            "denied",
            False,
            hint="The owner of the database can: GRANT clew_writer TO this user",
        )
    return f"PostgreSQL {version} is reachable, has the tables of clew, and may be written to"


def _probe_lake(sink: Any) -> str:
    sink.lake.probe()
    return "the lake is reachable and may be written to"


def _probe_http(sink: Sink[Any]) -> str:
    """Send an empty batch. A server that answers that it cannot take one is reachable."""
    try:
        if isinstance(sink, HttpSink):
            sink.probe()
        else:
            sink.write(())
    except StoreError as error:
        if error.kind != POISON:
            raise
        return "the server is reachable; it takes no empty batch"
    return "the server is reachable and took an empty batch"


def _probe_folder(address: str) -> str:
    path = Path(address.removeprefix("parquet:")).expanduser().absolute()
    folder = path if address.startswith("parquet:") else path.parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.", "denied", False) from None
    if path.exists() and not os.access(path, os.W_OK):
        raise StoreError(f"{path} cannot be written: it is read-only.", "denied", False)
    return f"{folder} may be written to"
