"""Create the sink and the deliveries for an address given with `--to`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.collect.collector import Collector
from clew.collect.direct_collect import LimitedSink
from clew.collect.masking import Policy
from clew.collect.sinks.http import HttpSink
from clew.collect.sinks.jsonl import JsonLines
from clew.collect.sinks.outbox import Cursor, Delivery, SequenceCursor, Sink
from clew.collect.sinks.record import Record
from clew.collect.sinks.state_file import StateCursor
from clew.errors import StoreError

if TYPE_CHECKING:
    from clew.collect.sinks.lake.delta_tables import Lake

POSTGRES = ("postgresql://", "postgres://")
OTLP = ("otlp+https://", "otlp+http://")
LAKE = ("delta:", "s3://")


def open_sink(address: str, token: str = "") -> Sink[Any]:
    """Create the sink for `postgresql://…`, `otlp+https://…`, `https://…`, a lake, or a file ending in `.jsonl`."""
    if address.startswith(POSTGRES):
        from clew.collect.sinks.postgres.connection import PostgresConnection
        from clew.collect.sinks.postgres.tables import PostgresLines

        return PostgresLines(PostgresConnection(address, token))
    if address.startswith(OTLP):
        from clew.collect.sinks.otlp.exporter import OtlpSink
        from clew.system.environment import otlp_headers

        return OtlpSink(address, token, otlp_headers())
    if address.startswith(LAKE):
        from clew.collect.sinks.lake.sink import LakeLines

        return LakeLines(open_lake(address, token))
    if address.startswith("parquet:"):
        from clew.collect.sinks.parquet import ParquetFiles

        return ParquetFiles(str(Path(address.removeprefix("parquet:")).expanduser().absolute()))
    if address.startswith(("https://", "http://")):
        return HttpSink(address, token)
    if address.endswith(".jsonl"):
        return JsonLines(str(Path(address).expanduser().absolute()))
    raise StoreError(
        f"{address} is not a sink address.",
        "unknown",
        False,
        hint=(
            "Write postgresql://…, s3://…, delta:FOLDER, parquet:FOLDER, otlp+https://…, https://…, "
            "or a file name that ends in .jsonl."
        ),
    )


def open_lake(address: str, secret: str = "") -> Lake:
    """Open the lake at an address, with credentials of the environment or a secret `KEY:SECRET`."""
    from clew.collect.sinks.lake.delta_tables import Lake
    from clew.system.environment import cloud_options

    return Lake(address, secret, cloud_options())


@contextmanager
def deliveries(
    collector: Collector,
    addresses: Sequence[str],
    *,
    token: str = "",
    state: str | None = None,
    reveal: bool = False,
    max_line: int = 0,
) -> Iterator[list[Delivery[Any]]]:
    """Yield the deliveries for each address. Secrets are masked for sinks outside this machine unless `reveal` is
    set.
    """
    sinks: list[Sink[Any]] = []
    try:
        sinks.extend(open_sink(address, token) for address in addresses)
        yield [delivery for sink in sinks for delivery in _deliveries_of(collector, sink, state, reveal, max_line)]
    finally:
        for sink in sinks:
            sink.close()


def _deliveries_of(
    collector: Collector, sink: Sink[Any], state: str | None, reveal: bool, max_line: int
) -> Iterator[Delivery[Any]]:
    """Yield the delivery of its lines, and for a store that can be queried that of its facts; for OpenTelemetry only
    spans.
    """
    connection = collector.connection
    policy = Policy(collector.key) if sink.leaves and not reveal else Policy()
    if sink.name.startswith(OTLP):
        from clew.collect.sinks.otlp.exporter import OtlpSink
        from clew.collect.sinks.otlp.span_cursor import SpanCursor
        from clew.facts.prices import load

        content = isinstance(sink, OtlpSink) and sink.content
        yield Delivery(sink, SpanCursor(connection, sink.name, load(), content), connection, policy)
        return
    if sink.name.startswith(LAKE):
        from clew.collect.sinks.lake.sink import LakeFactCursor, LakeFacts, LakeLineCursor, LakeLines
        from clew.facts.prices import load

        if isinstance(sink, LakeLines):
            fact_sink = LakeFacts(sink.lake)
            yield Delivery(sink, LakeLineCursor(connection, sink.name), connection, policy)
            yield Delivery(fact_sink, LakeFactCursor(connection, fact_sink.name, load()), connection, policy)
        return
    cursor: Cursor[Record] = SequenceCursor(connection, sink.name)
    if state is not None:
        cursor = StateCursor(connection, os.path.realpath(collector.root), state)
    yield Delivery(LimitedSink(sink, max_line) if max_line else sink, cursor, connection, policy)
    if sink.name.startswith(POSTGRES):
        from clew.collect.sinks.postgres.tables import PostgresFacts, PostgresLines
        from clew.collect.sql.fact_cursor import FactCursor
        from clew.facts.prices import load

        if isinstance(sink, PostgresLines):
            facts = PostgresFacts(sink.link)
            yield Delivery(facts, FactCursor(connection, facts.name, load()), connection, policy)
