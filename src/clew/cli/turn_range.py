"""Which part of a session is meant: some of its turns, the last ones, or another branch."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from clew.cli.output import count
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.errors import NotFound
from clew.system.plural import plural


def part_arguments(command: ArgumentParser) -> None:
    command.add_argument("--turns", metavar="A-B", type=span, help="only these turns: 3, 3-7, 3-, -7")
    command.add_argument("--last", metavar="N", type=count, help="only the last N turns")
    command.add_argument("--branch", metavar="N", type=count, help="another branch, by its number in clew trace")


def span(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not all(part.isdigit() or not part for part in (first, last)) or not (first or last):
        raise ArgumentTypeError(f"{text!r} is no range of turns: write 3, 3-7, 3- or -7")
    start = int(first or 1)
    return start, int(last) if last else (start if not dash else sys.maxsize)


def is_part(options: Namespace) -> bool:
    """Whether less than the active branch from its beginning is asked for, or another one."""
    return bool(options.turns) or options.last is not None or options.branch is not None


def turns_of(session: Session, options: Namespace) -> Sequence[Turn]:
    turns = session.turns
    if options.branch is not None:
        branch = next((b for b in session.branches if b.number == options.branch), None)
        if branch is None:
            raise NotFound(str(options.branch), "branch", [str(b.number) for b in session.branches])
        turns = session.turns_of(branch)
    if options.turns:
        first, last = options.turns
        turns = tuple(t for t in turns if first <= t.number <= last)
    if options.last is not None:
        turns = turns[max(0, len(turns) - options.last) :]
    if not turns and (options.turns or options.last is not None):
        raise _no_turn(options, len(session.turns))
    return turns


def _no_turn(options: Namespace, there: int) -> NotFound:
    first, last = options.turns or (f"--last {options.last}", sys.maxsize)
    missing = NotFound(str(first) if last in (first, sys.maxsize) else f"{first}-{last}", "turn")
    missing.hint = f"The session has {plural(there, 'turn')}."
    return missing
