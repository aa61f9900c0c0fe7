"""Addresses: which sink is meant by what a person writes behind `--to`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clew.collect.collector import Collector
from clew.collect.files import JsonLines
from clew.collect.http import HttpSink
from clew.collect.outbox import Cursor, Delivery, SequenceCursor, Sink
from clew.collect.policy import Policy
from clew.collect.state import StateCursor
from clew.errors import StoreError


def sink_at(address: str, token: str = "") -> Sink:
    """The sink at an address: `https://…`, `http://…`, or a file that ends in `.jsonl`."""
    if address.startswith(("https://", "http://")):
        return HttpSink(address, token)
    if address.endswith(".jsonl"):
        return JsonLines(str(Path(address).expanduser().absolute()))
    unknown = StoreError(f"{address} is no place that records can go to.", "unknown", False)
    unknown.hint = "Write https://…, or the name of a file that ends in .jsonl."
    raise unknown


@contextmanager
def deliveries(
    collector: Collector, addresses: Sequence[str], *, token: str = "", state: str | None = None, reveal: bool = False
) -> Iterator[list[Delivery]]:
    """A delivery for each address. Secrets are masked for whatever may leave the machine, unless all is to be revealed."""
    sinks: list[Sink] = []
    try:
        sinks.extend(sink_at(address, token) for address in addresses)
        yield [_delivery(collector, sink, state, reveal) for sink in sinks]
    finally:
        for sink in sinks:
            sink.close()


def _delivery(collector: Collector, sink: Sink, state: str | None, reveal: bool) -> Delivery:
    connection = collector.connection
    cursor: Cursor = SequenceCursor(connection, sink.name)
    if state is not None:
        cursor = StateCursor(connection, os.path.realpath(collector.root), state)
    policy = Policy(collector.key) if sink.leaves and not reveal else Policy()
    return Delivery(sink, cursor, connection, policy)
