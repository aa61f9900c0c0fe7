"""`clew show`: print a session."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from clew.cli.options import add_common_options, add_store_options, parse_count
from clew.cli.output import print_message
from clew.cli.turn_range import add_turn_options
from clew.view.depths import DEPTHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days"}


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "id", nargs="?", help="a session: its id, the beginning of it, or a path (default: the newest here)"
    )
    command.add_argument("--depth", choices=DEPTHS, default="calls", help="how much of it (default: calls)")
    command.add_argument("--full", action="store_true", help="everything: --depth full --thinking --lines 0")
    command.add_argument("--thinking", "-t", action="store_true", help="also what the model thought")
    command.add_argument("--meta", action="store_true", help="also show what Claude Code added for the model")
    command.add_argument("--todos", action="store_true", help="the session's todo lists, tasks and plans instead")
    command.add_argument("--no-agents", action="store_true", help="leave out what sub-agents did")
    command.add_argument(
        "--lines", metavar="N", type=parse_count, default=6, help="lines of a result (default 6, 0 for all)"
    )
    add_turn_options(command)
    command.add_argument("--rounds", action="store_true", help="list the rounds: kind, input, features, complexity")
    command.add_argument(
        "--gap",
        metavar="TIME",
        type=parse_gap,
        help="with --rounds: a longer pause makes a round a resume (default 5m)",
    )
    command.add_argument("--around", metavar="PLACE", help="only the messages around a line number or a uuid")
    command.add_argument(
        "-n", dest="messages", metavar="N", type=parse_count, help="with --around: N on either side (5)"
    )
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_common_options(command)
    add_store_options(command)


def parse_gap(text: str) -> timedelta:
    """Return a length of time: `5m`, `90s`, `1h`; a bare number is in minutes."""
    from datetime import timedelta

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a length of time: write 5m, 90s or 1h")
    try:
        return timedelta(**{_UNITS[(match[2] or "m").lower()]: float(match[1])})
    except OverflowError:
        raise ArgumentTypeError(f"{text!r} is too long: write 5m, 90s or 1h") from None


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    if options.gap is not None and not options.rounds:
        print_message("clew: --gap needs --rounds. Write: clew show ID --rounds --gap 10m")
        return 2
    session = open_session(options, options.id, archived=True)
    from clew.cli.read.show_run import show_session

    return show_session(session, options)
