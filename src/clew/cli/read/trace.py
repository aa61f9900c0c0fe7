"""`clew trace`: draw the shape of a session."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, add_store_options


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "id", nargs="?", help="a session: its id, the beginning of it, or a path (default: the newest here)"
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument("--all-branches", action="store_true", help="every branch (the default)")
    which.add_argument("--active", action="store_true", help="only the branch that a resume would continue")
    command.add_argument("--entries", action="store_true", help="the raw graph of entries, for debugging")
    command.add_argument("--full", action="store_true", help="draw long runs one by one")
    command.add_argument("--ascii", action="store_true", help="draw with plain ASCII")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_common_options(command)
    add_store_options(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    session = open_session(options, options.id, archived=True)
    from clew.cli.read.trace_run import draw_session

    return draw_session(session, options)
