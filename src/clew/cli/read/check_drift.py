"""`clew check --drift`: list names in session files that this version of clew does not know."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import convert, to_builtins
from msgspec.structs import asdict

from clew.cli.output import print_json, print_message
from clew.cli.progress import ProgressLine
from clew.cli.read.check_print import Line, format_table, print_lines
from clew.cli.read.check_workers import map_files
from clew.cli.select_session import open_session, session_files
from clew.conversation.session import Session
from clew.errors import READ_ERRORS
from clew.facts.format_drift import Drift, Unknown, drift, known_names
from clew.system.file_errors import explain_error
from clew.system.plural import plural
from clew.wire.layout import SessionFile, session_at

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
    found = map_files(prepare_drift, None, selected, options.jobs)
    for file, (value, reason) in zip(progress.count(selected, "sessions"), found, strict=True):
        if reason:
            progress.erase()
            print_message(f"{file.id[:8]} cannot be read: {reason}.")
            code = 2
            continue
        drifts = convert(value, Drift)
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


def prepare_drift(_: None) -> Callable[[str], tuple[Any, str]]:
    """Return the function that reads one file with its agents, for a worker process."""
    return _read_drift


def _read_drift(path: str) -> tuple[Any, str]:
    """Return the new names in a file as plain values; if it cannot be read, None and the reason."""
    try:
        drifts = sum((drift(session.entries) for session in _with_agents(session_at(path))), Drift())
    except READ_ERRORS as error:
        return None, explain_error(error)
    return to_builtins(drifts), ""


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
