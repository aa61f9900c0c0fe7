"""Create the sinks and the deliveries of a configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from clew.collect.collector import Collector
from clew.collect.config import SinkConfig
from clew.collect.direct_collect import LimitedSink
from clew.collect.landing.landing_sink import LANDING, LandingFacts, LandingLines, open_zone, prefix_name
from clew.collect.landing.object_chain import ObjectChain
from clew.collect.masking import Policy
from clew.collect.sinks.fact_check import FactCheck
from clew.collect.sinks.http import HttpSink
from clew.collect.sinks.jsonl import JsonLines
from clew.collect.sinks.outbox import FACTS, Check, Cursor, Delivery, SequenceCursor, Sink, adopt_old_name
from clew.collect.sinks.paced_cursors import PacedFactCursor, PacedLineCursor
from clew.collect.sinks.record import Record
from clew.collect.sinks.state_file import StateCursor
from clew.collect.sinks.store_check import StoreCheck
from clew.collect.sql.content_columns import facts_without_contents
from clew.collect.sql.fact_tables import FILE, FileFacts
from clew.collect.sql.sent_facts import SentFacts
from clew.errors import ClewError, Refused, StoreError
from clew.facts.prices import load
from clew.system.environment import cloud_options

if TYPE_CHECKING:
    from clew.collect.sinks.lake.delta_tables import Lake
    from clew.collect.sinks.lake.sink import LakeFacts
    from clew.collect.sinks.otlp.span_cursor import SentSpan
    from clew.collect.sinks.postgres.tables import PostgresFacts

POSTGRES = ("postgresql://", "postgres://")
OTLP = ("otlp+https://", "otlp+http://")
LAKE = ("delta:", "s3://")
_WITH_FACTS = (*POSTGRES, *LAKE, *LANDING)
_PROJECT = list(FILE.columns).index("project")


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
    if address.startswith(LANDING):
        return LandingLines(open_zone(address, token, cloud_options()), prefix_name(address))
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
            "Write postgresql://…, s3://…, delta:FOLDER, landing+s3://…, landing:FOLDER, parquet:FOLDER, "
            "otlp+https://…, https://…, or a file name that ends in .jsonl."
        ),
    )


def open_lake(address: str, secret: str = "") -> Lake:
    """Open the lake at an address, with credentials of the environment or a secret `KEY:SECRET`."""
    from clew.collect.sinks.lake.delta_tables import Lake

    return Lake(address, secret, cloud_options())


@contextmanager
def deliveries(
    collector: Collector,
    sinks: Sequence[SinkConfig],
    *,
    state: str | None = None,
    failed: Callable[[SinkConfig, ClewError], None] | None = None,
) -> Iterator[list[Delivery[Any]]]:
    """Yield the deliveries for each sink. Secrets are masked for sinks outside this machine unless `reveal` is set.

    A sink that cannot be opened is passed to `failed`, and the others are served; without it the error is raised.
    """
    opened: list[tuple[SinkConfig, Sink[Any]]] = []
    try:
        for config in sinks:
            try:
                sink = open_sink(config.to, config.read_secret())
                check_sends(config, sink.name)
                opened.append((config, sink))
            except (StoreError, Refused) as error:
                if failed is None:
                    raise
                failed(config, error)
        yield [delivery for config, sink in opened for delivery in _deliveries_of(collector, config, sink, state)]
    finally:
        for _, sink in opened:
            sink.close()


def delivery_names(config: SinkConfig) -> list[str]:
    """Return the names of the deliveries to a sink: of lines or spans, and of facts."""
    name = sink_name(config)
    has_facts = name.startswith(_WITH_FACTS)
    return [
        *([name] if config.send != "facts" or not has_facts else []),
        *([f"{name}#facts"] if has_facts and config.send != "lines" else []),
    ]


def sink_name(config: SinkConfig) -> str:
    """Return the name under which the archive knows a sink; its label if the sink cannot be created here."""
    try:
        sink = open_sink(config.to)
    except StoreError:
        return config.label
    sink.close()
    return sink.name


def check_sends(config: SinkConfig, name: str) -> None:
    """Refuse what this kind of sink cannot be sent."""
    has_facts = name.startswith(_WITH_FACTS)
    if not has_facts and (config.send == "facts" or not config.contents):
        raise Refused([f"{config.label} cannot be sent facts; a database (postgresql://…) or a lake (s3://…) can"])
    if not config.contents and config.send != "facts":
        raise Refused([f'{config.label}: lines are contents; write send = "facts" with contents = false'])
    if config.max_line and name.startswith((*OTLP, *LAKE)):
        raise Refused(["--max-line is for places that are sent lines: not for otlp+https://…, delta: or s3://…"])


def _deliveries_of(
    collector: Collector, config: SinkConfig, sink: Sink[Any], state: str | None
) -> Iterator[Delivery[Any]]:
    """Yield the delivery of its lines, and for a store that can be queried that of its facts; for OpenTelemetry only
    spans.
    """
    connection = collector.connection
    policy = Policy(collector.key) if sink.leaves and not config.reveal else Policy()

    def delivery(
        to: Sink[Any], cursor: Cursor[Any], wants: Callable[[Any], bool], check: Check | None = None
    ) -> Delivery[Any]:
        return Delivery(to, cursor, connection, policy, wants=wants, every=config.every, check=check)

    def wants_item(item: Record | SentSpan) -> bool:
        return config.allows(item.project)

    def wants_facts(facts: FileFacts) -> bool:
        return config.allows(str(facts.rows[FILE.name][0][_PROJECT]))

    if sink.name.startswith(OTLP):
        from clew.collect.sinks.otlp.exporter import OtlpSink
        from clew.collect.sinks.otlp.span_cursor import SpanCursor

        content = isinstance(sink, OtlpSink) and sink.content
        yield delivery(sink, SpanCursor(connection, sink.name, load(), content), wants_item)
        return
    lines, check, facts = _cursors_of(connection, sink)
    if state is not None:
        lines, check = StateCursor(connection, os.path.realpath(collector.root), state), None
    if config.send != "facts":
        yield delivery(LimitedSink(sink, config.max_line) if config.max_line else sink, lines, wants_item, check)
    if facts and config.send != "lines":
        to, cursor = facts
        checked = None  # a host cannot read what it has put into a landing zone
        if not isinstance(to, LandingFacts):
            checked = FactCheck(connection, to, check if config.send != "facts" else None)
        yield delivery(to if config.contents else NumbersOnly(to), cursor, wants_facts, checked)


def _cursors_of(
    connection: apsw.Connection, sink: Sink[Any]
) -> tuple[
    Cursor[Record], StoreCheck | None, tuple[LakeFacts | PostgresFacts | LandingFacts, Cursor[FileFacts]] | None
]:
    """Return the cursor of the lines of a sink, the check of what it has, and the sink and the cursor of its facts."""
    if sink.name.startswith(LAKE):
        from clew.collect.sinks.lake.sink import LakeFacts, LakeLines

        assert isinstance(sink, LakeLines)
        adopt_old_name(connection, sink.lake.root, sink.name)
        lines = PacedLineCursor(connection, sink.name)
        lake_facts = LakeFacts(sink.lake, sent=SentFacts.beside(connection, f"{sink.name}{FACTS}"))
        fact_cursor = PacedFactCursor(connection, lake_facts.name, load())
        return lines, StoreCheck(connection, sink, lines.place), (lake_facts, fact_cursor)
    if sink.name.startswith(POSTGRES):
        from clew.collect.sinks.postgres.tables import PostgresFacts, PostgresLines
        from clew.collect.sql.fact_cursor import FactCursor

        assert isinstance(sink, PostgresLines)
        check = StoreCheck(connection, sink, SequenceCursor(connection, sink.name))
        postgres_facts = PostgresFacts(sink.link, SentFacts.beside(connection, f"{sink.name}{FACTS}"))
        return check.cursor, check, (postgres_facts, FactCursor(connection, postgres_facts.name, load()))
    if isinstance(sink, LandingLines):
        sink.chain = ObjectChain(connection, sink.zone, sink.host)
        landing_facts = LandingFacts(sink.chain)
        fact_cursor = PacedFactCursor(connection, landing_facts.name, load())
        return PacedLineCursor(connection, sink.name), None, (landing_facts, fact_cursor)
    return SequenceCursor(connection, sink.name), None, None


class NumbersOnly:
    """Sends facts without contents: no prompts, replies, errors, titles or names of files."""

    leaves = True

    def __init__(self, sink: Sink[FileFacts]) -> None:
        self.sink = sink
        self.name = sink.name

    def write(self, batch: Sequence[FileFacts]) -> None:
        self.sink.write([facts_without_contents(facts) for facts in batch])

    def close(self) -> None:
        self.sink.close()
