"""`clew collect rejected`: list the records that a sink cannot take (with --json completely), and send them again with
--retry.
"""

from __future__ import annotations

import os
from argparse import Namespace

from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.system.plural import plural


def rejected(options: Namespace) -> int:
    from clew.collect.archive.archive_schema import open_read_only
    from clew.collect.archive.reader import archive_path
    from clew.collect.archive.sqlite_errors import translate_errors
    from clew.collect.masking import Policy
    from clew.collect.sinks.rejected import list_rejected, read_rejected

    if options.retry:
        return _retry(options)
    path = archive_path(options.archive)
    with translate_errors(path):
        connection = open_read_only(path)
        try:
            records = list_rejected(connection)
            if options.json:
                policy = Policy() if options.reveal else Policy(os.urandom(32))
                for record in records:
                    line = read_rejected(connection, record.seq, policy)
                    print_json([{"kind": "rejected", **record._asdict(), "record": line.to_json() if line else None}])
                return 0
        finally:
            connection.close()
    for record in records:
        place = f"{record.path}:{record.line} ({format_size(record.bytes)})"
        print(clean_name(f"{place}, for {record.sink}: {record.reason}"))
    if not options.quiet:
        what = plural(len(records), "record was", "records were")
        print_message(f"{what} rejected." + (" Send them again: clew collect rejected --retry" if records else ""))
    return 0


def _retry(options: Namespace) -> int:
    """Send rejected records again; exit code 2 if some are rejected again."""
    from clew.cli.keep.collect import collect_job
    from clew.cli.keep.collect_delivery import open_deliveries
    from clew.collect.job import lock_archive, open_collector
    from clew.collect.sinks.rejected import retry_rejected

    job = collect_job(options)
    with lock_archive(job), open_collector(job) as collector, open_deliveries(collector, job, options) as rounds:
        rounds.waiting = [retry_rejected(delivery) for delivery in rounds.waiting if not is_spans(delivery.sink.name)]
        return 0 if rounds.run(once=True) else 2


def is_spans(name: str) -> bool:
    """Return whether a sink is sent spans, which are built again and not kept when they are rejected."""
    return name.startswith("otlp+")
