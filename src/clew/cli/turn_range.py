"""Select turns of a session: a range, the last ones, or another branch."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from clew.cli.options import parse_count
from clew.conversation.session import Session
from clew.conversation.turn_numbers import TurnRange
from clew.conversation.turns import Turn
from clew.errors import NotFound
from clew.system.plural import plural


def add_turn_options(command: ArgumentParser) -> None:
    """Add the options that select turns: `--turns`, `--last` and `--branch`."""
    command.add_argument(
        "--turns", metavar="A-B", type=parse_turns, help="only these turns: 3, 3-7, 3-, or -1 for the last"
    )
    command.add_argument("--last", metavar="N", type=parse_count, help="only the last N turns")
    command.add_argument("--branch", metavar="N", type=parse_count, help="another branch, by its number in clew trace")


def parse_turns(text: str) -> TurnRange:
    """Parse the value of an option that selects turns."""
    try:
        return TurnRange(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def selects_part(options: Namespace) -> bool:
    """Return whether the options select less than the whole active branch, or another branch."""
    return bool(options.turns) or options.last is not None or options.branch is not None


def select_turns(session: Session, options: Namespace) -> Sequence[Turn]:
    """Return the turns that the options select. Raises NotFound for a branch or turns that the session does not have."""
    turns = session.turns
    if options.branch is not None:
        branch = next((b for b in session.branches if b.number == options.branch), None)
        if branch is None:
            raise NotFound(str(options.branch), "branch", [str(b.number) for b in session.branches])
        turns = session.turns_of(branch)
    if options.turns:
        numbers = options.turns.resolve(turns[-1].number if turns else 0)
        turns = tuple(turn for turn in turns if turn.number in numbers)
    if options.last is not None:
        turns = turns[max(0, len(turns) - options.last) :]
    if not turns and (options.turns or options.last is not None):
        raise _no_turns_error(options, len(session.turns))
    return turns


def _no_turns_error(options: Namespace, count: int) -> NotFound:
    return NotFound(
        str(options.turns or f"--last {options.last}"), "turn", hint=f"The session has {plural(count, 'turn')}."
    )
