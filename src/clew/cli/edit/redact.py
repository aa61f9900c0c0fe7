"""`clew redact`: copy a session with its secrets masked."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from clew.cli.edit import edit_output
from clew.cli.options import add_jobs_option
from clew.cli.output import clean_name, print_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.edit.redact_session import RedactionCounts


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument("--secrets", action="store_true", help="take out what looks like a secret (the default)")
    command.add_argument(
        "--pattern",
        metavar="RE",
        action="append",
        default=[],
        help="take out what fits this regular expression (may be repeated); secrets too only with --secrets",
    )
    add_jobs_option(command, "a large session: ")
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    source = open_session(options, options.id)
    from clew.edit.plan import plan
    from clew.edit.redact_session import redact
    from clew.edit.redactor import make_redactor

    hidden = make_redactor(options.secrets or not options.pattern, options.pattern)
    edit, tally = redact(plan(source), hidden, jobs=options.jobs)
    if not tally.total and not tally.left_out:
        if not options.quiet:
            print_message(f"Nothing in {source.id[:8]} or its files is to be hidden ({hidden}). Nothing was written.")
        return 1
    if not options.json and not options.diff:
        for line in _report(tally):
            print(clean_name(line))
    return edit_output.finish(options, edit, _json(tally))


def _report(tally: RedactionCounts) -> Iterator[str]:
    kinds = sorted(tally.kinds.items(), key=lambda each: (-each[1], each[0]))
    yield "Hidden: " + ", ".join(f"{kind} {count}" for kind, count in kinds)
    width = max(map(len, tally.places), default=0)
    for location in sorted(tally.places):
        counts = ", ".join(f"{kind} {count}" for (p, kind), count in sorted(tally.by_location.items()) if p == location)
        yield f"  {location.ljust(width)}  {counts}"
    if tally.thinking:
        yield f"Thinking that was left out, since a signature allows no change: {tally.thinking}"
    if tally.unreadable:
        yield f"Lines that are no entries and were left out: {tally.unreadable}"
    if tally.left_out:
        yield f"Files that are no text, hold a match and were left out: {', '.join(tally.left_out)}"


def _json(tally: RedactionCounts) -> dict[str, Any]:
    return {
        "hidden": [{"place": p, "what": kind, "count": n} for (p, kind), n in sorted(tally.by_location.items())],
        "thinking": tally.thinking,
        "unreadable": tally.unreadable,
        "left_out": list(tally.left_out),
    }
