"""Remember how the deliveries to each sink went, and describe it for people, scripts and Prometheus.

The record is a small file next to the archive. It is only reported, never relied on: how far a sink is, is in the
archive itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from clew.collect.archive.archive_status import ArchiveStatus
from clew.wire import session_writer
from clew.wire.json_codec import decode

if TYPE_CHECKING:
    from clew.collect.sinks.outbox import DeliveryOutcome


class SinkHealth(Struct, frozen=True):
    """The last deliveries to a sink; times are seconds since 1970, 0 for never."""

    last_run: int = 0
    last_success: int = 0
    last_delivery: int = 0
    sent: int = 0
    error: str = ""
    failing_since: int = 0
    retention: str = ""

    def update(self, outcome: DeliveryOutcome, now: int) -> SinkHealth:
        changed = replace(self, last_run=now, sent=self.sent + outcome.sent)
        if outcome.sent:
            changed = replace(changed, last_delivery=now)
        if outcome.error is None:
            return replace(changed, last_success=now, error="", failing_since=0, retention=outcome.retention)
        return replace(changed, error=str(outcome.error), failing_since=self.failing_since or now)


class SinkReport(Struct, frozen=True):
    """The state of a sink: how many records wait, for how long, and what was rejected."""

    sink: str
    label: str
    waiting: int
    rejected: int
    lag_seconds: int
    health: SinkHealth

    @property
    def is_well(self) -> bool:
        return not (self.health.error or self.rejected)

    def to_json(self) -> dict[str, object]:
        about = {"sink": self.sink, "name": self.label, "waiting": self.waiting, "rejected": self.rejected}
        return {**about, "lag_seconds": self.lag_seconds, "ok": self.is_well, **asdict(self.health)}


def health_path(archive: str) -> str:
    """Return the file in which deliveries are noted."""
    return f"{os.path.splitext(archive)[0]}.health.json"


def read_health(archive: str) -> dict[str, SinkHealth]:
    """Return what was noted, by sink; nothing if the file is missing or damaged."""
    try:
        with open(health_path(archive), "rb") as file:
            value = decode(file.read())
        return {str(name): SinkHealth(**fields) for name, fields in value["sinks"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def read_last_run(archive: str) -> int:
    """Return when the collector last ran, in seconds since 1970; 0 if that is unknown."""
    try:
        with open(health_path(archive), "rb") as file:
            return int(decode(file.read())["run"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def note_outcomes(archive: str, outcomes: Iterable[DeliveryOutcome], now: int) -> None:
    """Note that the collector ran, and the outcomes of deliveries."""
    health = read_health(archive)
    for outcome in outcomes:
        health[outcome.sink] = health.get(outcome.sink, SinkHealth()).update(outcome, now)
    noted = {"version": 1, "run": now, "sinks": {name: asdict(each) for name, each in health.items()}}
    path, body = health_path(archive), json.dumps(noted, indent=1)
    if os.path.exists(path):
        session_writer.replace(path, body.encode())
    else:
        session_writer.create_exactly(path, (body.encode(),))


def report_sinks(
    status: ArchiveStatus, health: Mapping[str, SinkHealth], configured: Mapping[str, str], now: int
) -> list[SinkReport]:
    """Return the state of every sink that is configured, was tried or was delivered to.

    `configured` has the label of each configured sink by the name of the sink.
    """
    reports = []
    for name in sorted({*status.waiting, *health, *configured, *status.rejected}):
        known = health.get(name, SinkHealth())
        waiting = status.waiting.get(name, status.deliverable)
        since = known.last_success or known.failing_since or now
        lag = max(0, now - since) if waiting else 0
        reports.append(SinkReport(name, configured.get(name, ""), waiting, status.rejected.get(name, 0), lag, known))
    return reports


class Measurement(NamedTuple):
    """A number for monitoring; `sink` is empty for one of the archive."""

    name: str
    help: str
    sink: str
    value: int


_METRICS = {
    "clew_sink_up": "Whether the last delivery to the sink succeeded.",
    "clew_sink_waiting_records": "Records in the archive that the sink has not accepted.",
    "clew_sink_rejected_records": "Records that the sink cannot take.",
    "clew_sink_lag_seconds": "Seconds since everything was delivered, while records wait.",
    "clew_sink_last_run_timestamp_seconds": "When the sink was last tried.",
    "clew_sink_last_delivery_timestamp_seconds": "When the sink last accepted records.",
}


def measure(status: ArchiveStatus, sinks: Iterable[SinkReport], last_run: int) -> Iterator[Measurement]:
    """Yield the numbers of the archive, and those of each sink."""
    for name, count in status.counts.items():
        yield Measurement(f"clew_archive_{name}", f"Number of {name.replace('_', ' ')} in the archive.", "", count)
    yield Measurement("clew_archive_stored_bytes", "Size of the archive on disk.", "", status.stored_bytes)
    yield Measurement("clew_last_run_timestamp_seconds", "When the collector last ran; 0 for never.", "", last_run)
    reports = list(sinks)
    for metric, help_text in _METRICS.items():
        for each in reports:
            yield Measurement(metric, help_text, each.sink, _value(metric, each))


def prometheus_text(measurements: Iterable[Measurement]) -> Iterator[str]:
    """Yield measurements in the text format of Prometheus, for the textfile collector of its node exporter."""
    last = ""
    for each in measurements:
        if each.name != last:
            yield f"# HELP {each.name} {each.help}"
            yield f"# TYPE {each.name} gauge"
            last = each.name
        label = each.sink.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        yield f'{each.name}{{sink="{label}"}} {each.value}' if each.sink else f"{each.name} {each.value}"


def _value(metric: str, report: SinkReport) -> int:
    return {
        "clew_sink_up": int(not report.health.error),
        "clew_sink_waiting_records": report.waiting,
        "clew_sink_rejected_records": report.rejected,
        "clew_sink_lag_seconds": report.lag_seconds,
        "clew_sink_last_run_timestamp_seconds": report.health.last_run,
        "clew_sink_last_delivery_timestamp_seconds": report.health.last_delivery,
    }[metric]
