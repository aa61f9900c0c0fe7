"""`clew check --drift`: the names in session files that this version of clew does not know."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Any

from clew.cli.output import print_json, remark
from clew.cli.read.check_print import Line, print_lines, table, watched
from clew.cli.select_session import files
from clew.cli.select_session import session as chosen
from clew.conversation.session import Session
from clew.errors import READ_ERRORS
from clew.facts.format_drift import Drift, Unknown, drift, known
from clew.system.file_errors import describe_error
from clew.system.plural import plural
from clew.wire.layout import SessionFile

_SHOWN = 10  # sessions before the rest is left out


def call(options: Namespace) -> int | None:
    """Report the unknown names of one session if an id is given, else of all; None if there is no session."""
    if options.id:
        session = chosen(options, options.id, archived=True)
        wanted = [session.file] if isinstance(session.file, SessionFile) else []
    else:
        wanted = list(islice(files(options), options.limit))
    total = Drift()
    where = []
    code = 0
    for file in watched(wanted, options.quiet):
        try:
            found = sum((drift(s.entries) for s in _with_agents(file)), Drift())
        except READ_ERRORS as error:
            remark(f"{file.id[:8]} cannot be read: {describe_error(error)}.")
            code = 2
            continue
        where += [file.id[:8]] if found.found else []
        total += found
    if not total.files:
        return code or None
    if options.json:
        print_json([_drift_json(total)])
    else:
        print_lines(_drift_report(total))
    if where and not options.id and not options.quiet:
        remark(f"They are in {', '.join(where[:_SHOWN])}{' …' if len(where) > _SHOWN else ''}")
    return code


def _with_agents(file: SessionFile) -> Iterator[Session]:
    yield Session(file.path, file=file)
    for agent in file.agents():
        yield Session(agent.path, file=agent)


def _drift_json(total: Drift) -> Mapping[str, Any]:
    unknown = [asdict(each) for each in total.unknown]
    counts = {"files": total.files, "entries": total.entries, "versions": dict(total.versions)}
    return {"kind": "drift", "known": known().newest, **counts, "newer": list(total.newer), "unknown": unknown}


def _drift_report(total: Drift) -> Iterator[Line]:
    seen = (
        plural(total.files, "file"),
        plural(total.entries, "entry", "entries"),
        plural(len(total.versions), "version"),
    )
    yield "", f"{', '.join(seen)}."
    if total.newer:
        yield "", f"Newer than the names known here, which are those of {known().newest}: {', '.join(total.newer)}."
    if not total.unknown:
        yield "bold green", f"Every name is known from versions up to {known().newest}."
        return
    yield "bold yellow", f"{plural(len(total.unknown), 'name')} not known from versions up to {known().newest}:"
    yield from table(("KIND", "NAME", "COUNT", "VERSIONS", "LINE"), map(_unknown, total.unknown))


def _unknown(each: Unknown) -> tuple[str, ...]:
    span = each.first if each.first == each.last else f"{each.first} to {each.last}"
    name = f"{each.of}.{each.name}" if each.of else each.name
    return each.kind, name, str(each.count), span or "?", str(each.line)
