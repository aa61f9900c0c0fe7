"""`clew drop`: copy a session without some of its turns, or with only some of them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import islice

from clew.cli.edit import edit_output
from clew.cli.turn_range import parse_turns


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    which = command.add_mutually_exclusive_group(required=True)
    for name, purpose in (("--turn", "leave these turns out"), ("--keep", "leave all others out")):
        which.add_argument(
            name,
            metavar="N",
            nargs="+",
            type=parse_turns,
            action="extend",
            help=f"{purpose}: 3, 5-7, 3-, or -1 for the last",
        )
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    session = open_session(options, options.id)
    from clew.edit.plan import plan

    last = len(session.turns)
    numbers = [
        number
        for turns in options.keep or options.turn
        for number in islice(turns.resolve(last), last + 1)  # `3-999999` need not be counted to its end
    ]
    edit = plan(session)
    return edit_output.finish_with_sizes(
        options, edit.keep_turns(numbers) if options.keep else edit.drop_turns(numbers)
    )
