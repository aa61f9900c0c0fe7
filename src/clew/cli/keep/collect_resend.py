"""`clew collect resend`: send everything in the archive again."""

from __future__ import annotations

from argparse import Namespace

from clew.cli.keep import collect
from clew.cli.keep.collect_delivery import chosen_sinks
from clew.errors import Refused


def resend(options: Namespace) -> int:
    """Move the cursors of the sinks back to the beginning, and send. Stores keep one of each record."""
    from clew.collect.archive.archive_schema import open_archive
    from clew.collect.archive.reader import archive_path
    from clew.collect.archive.sqlite_errors import translate_errors
    from clew.collect.job import CollectJob, lock_archive
    from clew.collect.sinks.address import sink_name
    from clew.collect.sinks.outbox import SequenceCursor

    names = [sink_name(config) for config in chosen_sinks(options)]
    if not names:
        raise Refused(["there is no sink to send to: name one with --to, or configure it with clew collect init"])
    path = archive_path(options.archive)
    with lock_archive(CollectJob("", path)), translate_errors(path):
        connection = open_archive(path)
        try:
            for name in names:
                SequenceCursor(connection, name).resend()
        finally:
            connection.close()
    options.action = None
    return collect.run(options)
