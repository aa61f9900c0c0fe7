"""`clew compact`: a session whose older turns are summed up, as /compact would do it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from clew.cli.edit import edit_output, summary_options
from clew.cli.edit.drop import numbers
from clew.cli.output import parse_count
from clew.cli.select_session import open_session


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--turns", metavar="N-M", type=numbers, help="sum up these turns (default: all)")
    which.add_argument(
        "--keep-last",
        metavar="N",
        type=parse_count,
        default=0,
        help="sum up all but the last N turns, which stay as they are",
    )
    command.add_argument("--summary", metavar="FILE", help="the text to put in their place; - for stdin")
    summary_options.add_arguments(command)
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    from clew.edit.plan import plan

    found = plan(open_session(options, options.id))
    last = len(found.session.turns)
    turns = tuple(n + last + 1 if n < 0 else n for n in options.turns) if options.turns else None
    summarise = summary_options.Summariser(options)
    words = _given(options.summary) if options.summary else summarise
    made = found.compact(words, turns=turns, keep_last=options.keep_last)
    return edit_output.finish_with_sizes(options, made, summarise.told)


def _given(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
