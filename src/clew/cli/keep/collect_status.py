"""`clew collect status`: show the state of the archive."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from clew.cli.output import clean, clean_name, format_size, print_json, print_message
from clew.errors import Refused
from clew.system.plural import plural
from clew.view.sanitize import format_age

if TYPE_CHECKING:
    from clew.collect.archive.archive_status import ArchiveStatus
    from clew.collect.install_check import Installed
    from clew.collect.sink_health import Measurement, SinkReport


def status(options: Namespace) -> int:
    """Print the state of the archive and of each sink: exit code 1 if a sink failed or rejected something, 2 if the
    archive is damaged.
    """
    from clew.collect.archive.archive_schema import open_read_only
    from clew.collect.archive.archive_status import read_status
    from clew.collect.archive.reader import archive_path
    from clew.collect.archive.sqlite_errors import translate_errors
    from clew.collect.install_check import describe_problem
    from clew.collect.retention import read_rule
    from clew.collect.sink_health import measure, prometheus_text, read_health, read_last_run, report_sinks
    from clew.collect.sinks.delivery_marks import current_host

    installed = _installed(options)
    problems = [explanation for each in installed if (explanation := describe_problem(each))]
    path = archive_path(options.archive)
    if not options.json:
        for problem in problems:
            print_message(problem)
    with translate_errors(path):
        connection = open_read_only(path)
        try:
            archive_status = read_status(connection, path, thorough=options.scrub)
            rule = read_rule(connection)
            host = current_host(connection)
        finally:
            connection.close()
    sinks = report_sinks(archive_status, read_health(path), _configured(options), int(time.time()))
    last_run = read_last_run(path)
    if options.otlp:
        _push(options, measure(archive_status, sinks, last_run), host)
    if options.prometheus:
        for row in prometheus_text(measure(archive_status, sinks, last_run)):
            print(clean(row))
    elif options.json:
        found = {
            "installed": [_json(each) for each in installed],
            "last_run": last_run,
            "sinks": [each.to_json() for each in sinks],
            "retention_days": rule.lines,
        }
        print_json([{"kind": "archive", "path": path, **asdict(archive_status), **found}])
    else:
        kept = [f"The archive {rule.describe()} after a file is gone from the disk"] if rule.describe() else []
        ran = [f"Last run: {_age(last_run)}"] if last_run else []
        for row in (path, *_rows(archive_status), *ran, *kept, *map(_sink_row, sinks)):
            print(clean_name(row))
    if archive_status.is_sound is False:
        return 2
    return 0 if all(each.is_well for each in sinks) else 1


def _push(options: Namespace, measurements: Iterable[Measurement], host: str) -> None:
    """Send the numbers to an OTLP receiver. Raises StoreError, Refused."""
    from clew.collect.sinks.otlp.metrics import push_metrics
    from clew.system.environment import otlp_headers

    if not options.otlp.startswith(("otlp+https://", "otlp+http://")):
        raise Refused([f"{options.otlp} is not a receiver of metrics"], hint="Write otlp+https://… or otlp+http://…")
    token = Path(options.token_file).expanduser().read_text().strip() if options.token_file else ""
    push_metrics(options.otlp, measurements, host, int(time.time()), token=token, headers=otlp_headers())


def _configured(options: Namespace) -> dict[str, str]:
    """Return the labels of the configured sinks by name."""
    from clew.cli.keep.collect_delivery import chosen_sinks
    from clew.collect.sinks.address import delivery_names

    return {name: sink.name for sink in chosen_sinks(options) for name in delivery_names(sink)}


def _sink_row(report: SinkReport) -> str:
    health = report.health
    parts = [plural(report.waiting, "record waits", "records wait") + f" for {report.sink}"]
    if report.label:
        parts.append(report.label)
    if report.rejected:
        parts.append(f"{report.rejected:,} rejected (see clew collect rejected)")
    if not health.last_run:
        parts.append("not tried yet")
    elif health.last_delivery:
        parts.append(f"last delivery {_age(health.last_delivery)}")
    if health.retention:
        parts.append(health.retention)
    if report.lag_seconds:
        parts.append(f"{report.lag_seconds:,} s behind")
    if health.error:
        parts.append(f"FAILING since {_age(health.failing_since)}: {health.error}")
    return ", ".join(parts)


def _age(seconds: int) -> str:
    age = format_age(datetime.fromtimestamp(seconds, UTC))
    return "just now" if age == "now" else f"{age} ago"


def _installed(options: Namespace) -> list[Installed]:
    """Return the hooks and the timer that run the collector."""
    from clew.collect.install_check import find_hooks, read_timer
    from clew.collect.install_plan import timer_file
    from clew.wire.layout import claude_dir

    timer = read_timer(timer_file())
    return [*find_hooks(claude_dir(options.claude_dir) / "settings.json"), *([timer] if timer else [])]


def _json(installed: Installed) -> dict[str, str]:
    return {
        "type": installed.kind,
        "path": str(installed.path),
        "command": installed.command,
        "state": installed.state,
        "next": installed.next_step,
    }


def _rows(archive_status: ArchiveStatus) -> Iterator[str]:
    counts = archive_status.counts
    sessions = f"{plural(counts['sessions'], 'session')}, {counts['gone']:,} of them gone from the disk"
    yield f"{sessions}; {plural(counts['files'], 'file')} in all"
    stored = format_size(archive_status.stored_bytes)
    lines = f"{plural(counts['lines'], 'line')}, {format_size(counts['source_bytes'])}"
    yield f"{lines}; {counts['contents']:,} of them differ, kept in {stored}"
    if counts["quarantined"]:
        yield f"{plural(counts['quarantined'], 'line is', 'lines are')} damaged or withheld"
    if counts["masked"]:
        yield f"{plural(counts['masked'], 'secret is', 'secrets are')} masked"
    for reason, count in archive_status.resets.items():
        yield f"{plural(count, 'time')} a file was {reason}"
    if archive_status.is_sound is not None:
        yield "The file is sound" if archive_status.is_sound else "The file is DAMAGED"
