"""Select turns of a session: a range, the last ones, or another branch."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from clew.cli.options import parse_count
from clew.errors import NotFound
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.conversation.branches import Branch
    from clew.conversation.session import Session
    from clew.conversation.turn_numbers import TurnRange
    from clew.conversation.turns import Turn

ALL_BRANCHES = -1  # the value of `--branch all`


def add_turn_options(command: ArgumentParser, every_branch: bool = False) -> None:
    """Add the options that select turns: `--turns`, `--last` and `--branch`, with `all` if `every_branch` is true."""
    command.add_argument(
        "--turns", metavar="A-B", type=parse_turns, help="only these turns: 3, 3-7, 3-, or -1 for the last"
    )
    command.add_argument("--last", metavar="N", type=parse_count, help="only the last N turns")
    command.add_argument(
        "--branch",
        metavar="N",
        type=_parse_branch if every_branch else parse_count,
        help=f"another branch, by its number in clew trace{', or all' if every_branch else ''}",
    )


def _parse_branch(text: str) -> int:
    return ALL_BRANCHES if text == "all" else parse_count(text)


def parse_turns(text: str) -> TurnRange:
    """Parse the value of an option that selects turns."""
    from clew.conversation.turn_numbers import TurnRange

    try:
        return TurnRange(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def selects_part(options: Namespace) -> bool:
    """Return whether the options select less than the whole active branch, or another branch."""
    return bool(options.turns) or options.last is not None or options.branch is not None


def find_branch(session: Session, options: Namespace) -> Branch | None:
    """Return the branch that the options select; None for the active one or all. Raises NotFound."""
    if options.branch in (None, ALL_BRANCHES):
        return None
    branch = next((b for b in session.branches if b.number == options.branch), None)
    if branch is None:
        raise NotFound(str(options.branch), "branch", [str(b.number) for b in session.branches])
    return branch


def select_turns(session: Session, options: Namespace) -> Sequence[Turn]:
    """Return the turns that the options select. Raises NotFound for a branch or turns that the session does not have."""
    branch = find_branch(session, options)
    turns = session.turns_of(branch) if branch else session.turns
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
