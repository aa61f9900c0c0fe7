"""`clew compact`: a session whose older turns are summed up, as /compact would do it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from clew.cli import edited, summary
from clew.cli.choose import session
from clew.cli.drop import numbers
from clew.cli.output import count


def arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--turns", metavar="N-M", type=numbers, help="sum up these turns (default: all)")
    which.add_argument(
        "--keep-last",
        metavar="N",
        type=count,
        default=0,
        help="sum up all but the last N turns, which stay as they are",
    )
    command.add_argument("--summary", metavar="FILE", help="the text to put in their place; - for stdin")
    summary.arguments(command)
    edited.arguments(command)


def call(options: Namespace) -> int:
    from clew.edit.plan import plan

    found = plan(session(options, options.id))
    last = len(found.session.turns)
    turns = tuple(n + last + 1 if n < 0 else n for n in options.turns) if options.turns else None
    summarise = summary.Summariser(options)
    words = _given(options.summary) if options.summary else summarise
    made = found.compact(words, turns=turns, keep_last=options.keep_last)
    return edited.finish_with_sizes(options, made, summarise.told)


def _given(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
