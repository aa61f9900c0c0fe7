"""`clew collect status`: show the state of the archive."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.system.plural import plural

if TYPE_CHECKING:
    from clew.collect.archive.archive_status import ArchiveStatus
    from clew.collect.install_check import Installed


def status(options: Namespace) -> int:
    from clew.collect.archive.archive_schema import open_read_only
    from clew.collect.archive.archive_status import read_status
    from clew.collect.archive.reader import archive_path
    from clew.collect.archive.sqlite_errors import translate_errors
    from clew.collect.install_check import describe_problem

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
        finally:
            connection.close()
    if options.json:
        print_json(
            [
                {
                    "kind": "archive",
                    "path": path,
                    **asdict(archive_status),
                    "installed": [_json(each) for each in installed],
                }
            ]
        )
    else:
        for row in (path, *_rows(archive_status)):
            print(clean_name(row))
    return 2 if archive_status.is_sound is False else 0


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
    for sink, count in archive_status.waiting.items():
        yield f"{plural(count, 'record waits', 'records wait')} for {sink}"
    if counts["rejected"]:
        yield f"{plural(counts['rejected'], 'record was', 'records were')} not taken"
    if archive_status.is_sound is not None:
        yield "The file is sound" if archive_status.is_sound else "The file is DAMAGED"
