"""`clew drop`: a session without some of its turns, or with some of them alone."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from clew.cli.edit import edit_output
from clew.cli.select_session import open_session


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    which = command.add_mutually_exclusive_group(required=True)
    for name, purpose in (("--turn", "leave these turns out"), ("--keep", "leave all others out")):
        which.add_argument(
            name, metavar="N", nargs="+", type=numbers, action="extend", help=f"{purpose}: 3, 5-7, -1 for the last"
        )
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    from clew.edit.plan import plan

    found = open_session(options, options.id)
    last = len(found.turns)
    chosen = [n for span in options.keep or options.turn for n in _within(span, last)]
    made = plan(found)
    return edit_output.finish_with_sizes(options, made.keep_turns(chosen) if options.keep else made.drop_turns(chosen))


def numbers(text: str) -> tuple[int, int]:
    """A turn, or the first and last of several."""
    first, dash, last = text[1:].partition("-")
    try:
        return int(text[:1] + first), int(last if dash else text[:1] + first)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no turn: write 3, 5-7 or -1") from None


def _within(span: tuple[int, int], last: int) -> range:
    first, end = (n + last + 1 if n < 0 else n for n in span)
    return range(first, end + 1)
