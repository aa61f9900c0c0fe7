"""`clew follow`: watch a session as it is written."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, parse_count, parse_number


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "id", nargs="?", help="a session: its id, the beginning of it, or a path (default: the newest here)"
    )
    command.add_argument(
        "--last", metavar="N", type=parse_count, default=1, help="begin with the last N turns (default 1)"
    )
    command.add_argument("--results", action="store_true", help="also what calls gave back, and what they changed")
    command.add_argument("--thinking", "-t", action="store_true", help="also what the model thought")
    command.add_argument("--switch", action="store_true", help="go over to a newer session when one begins")
    command.add_argument("--interval", metavar="S", type=parse_number, default=0.5, help="look so often (default 0.5)")
    ending = command.add_mutually_exclusive_group()
    ending.add_argument("--until-idle", metavar="S", type=parse_number, help="end when nothing was written for so long")
    ending.add_argument("--once", action="store_true", help="end when all there is has been printed")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.read.follow_run import follow_session

    return follow_session(options)
