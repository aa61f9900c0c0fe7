"""`clew check --drift`: list names in session files that this version of clew does not know."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec.structs import asdict

from clew.cli.output import print_json, print_message
from clew.cli.progress import ProgressLine
from clew.cli.read.check_print import Line, format_table, print_lines
from clew.cli.select_session import open_session, session_files
from clew.conversation.session import Session
from clew.errors import READ_ERRORS
from clew.facts.format_drift import Drift, Unknown, drift, known_names
from clew.system.file_errors import describe_error
from clew.system.plural import plural
from clew.wire.layout import SessionFile

_SHOWN = 10  # sessions to name


def run(options: Namespace) -> int | None:
    """Report the unknown names of one session if an id is given, else of all. None if there is no session."""
    if options.id:
        session = open_session(options, options.id, archived=True)
        selected = [session.file] if isinstance(session.file, SessionFile) else []
    else:
        selected = list(islice(session_files(options), options.limit))
    total = Drift()
    sessions = []
    code = 0
    progress = ProgressLine(1.0, quiet=options.quiet)
    for file in progress.count(selected, "sessions"):
        try:
            drifts = sum((drift(s.entries) for s in _with_agents(file)), Drift())
        except READ_ERRORS as error:
            progress.erase()
            print_message(f"{file.id[:8]} cannot be read: {describe_error(error)}.")
            code = 2
            continue
        sessions += [file.id[:8]] if drifts.by_key else []
        total += drifts
    if not total.files:
        return code or None
    if options.json:
        print_json([_total_json(total)])
    else:
        print_lines(_report_lines(total))
    if sessions and not options.id and not options.quiet:
        print_message(f"They are in {', '.join(sessions[:_SHOWN])}{' …' if len(sessions) > _SHOWN else ''}")
    return code


def _with_agents(file: SessionFile) -> Iterator[Session]:
    yield Session(file.path, file=file)
    for agent in file.agents():
        yield Session(agent.path, file=agent)


def _total_json(total: Drift) -> Mapping[str, Any]:
    unknown = [asdict(name) for name in total.unknown]
    counts = {"files": total.files, "entries": total.entries, "versions": dict(total.versions)}
    return {"kind": "drift", "known": known_names().newest, **counts, "newer": list(total.newer), "unknown": unknown}


def _report_lines(total: Drift) -> Iterator[Line]:
    counts = (
        plural(total.files, "file"),
        plural(total.entries, "entry", "entries"),
        plural(len(total.versions), "version"),
    )
    yield "", f"{', '.join(counts)}."
    if total.newer:
        yield "", f"Newer than the newest known version, {known_names().newest}: {', '.join(total.newer)}."
    if not total.unknown:
        yield "bold good", f"Every name is known from versions up to {known_names().newest}."
        return
    yield "bold warn", f"{plural(len(total.unknown), 'name')} not known from versions up to {known_names().newest}:"
    yield from format_table(("KIND", "NAME", "COUNT", "VERSIONS", "LINE"), map(_unknown_row, total.unknown))


def _unknown_row(unknown: Unknown) -> tuple[str, ...]:
    versions = unknown.first if unknown.first == unknown.last else f"{unknown.first} to {unknown.last}"
    name = f"{unknown.of}.{unknown.name}" if unknown.of else unknown.name
    return unknown.kind, name, str(unknown.count), versions or "?", str(unknown.line)
