"""`clew compact`: copy a session with older turns replaced by a summary, as /compact does."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from clew.cli.edit import edit_output, summary_options
from clew.cli.options import parse_count
from clew.cli.turn_range import parse_turns


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--turns", metavar="A-B", type=parse_turns, help="summarise these turns (default: all)")
    which.add_argument(
        "--keep-last",
        metavar="N",
        type=parse_count,
        default=0,
        help="summarise all but the last N turns, and keep those unchanged",
    )
    command.add_argument("--summary", metavar="FILE", help="use this text as the summary; - reads stdin")
    summary_options.add_arguments(command)
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session
    from clew.edit.plan import plan

    edit = plan(open_session(options, options.id))
    numbers = options.turns.resolve(len(edit.session.turns)) if options.turns else None
    summarise = summary_options.Summariser(options)
    summary = _read_text(options.summary) if options.summary else summarise
    compacted = edit.compact(
        summary,
        turns=(numbers.start, numbers.stop - 1) if numbers is not None else None,
        keep_last=options.keep_last,
    )
    return edit_output.finish_with_sizes(options, compacted, summarise.details)


def _read_text(name: str) -> str:
    from pathlib import Path

    return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
