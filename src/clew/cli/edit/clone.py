"""`clew clone`: copy a session: all of it, up to a turn, or into another project."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.edit import edit_output


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument(
        "--at", metavar="PLACE", help="end with this turn (-1 is the last), branch (b2) or entry (its uuid)"
    )
    command.add_argument("--to", metavar="FOLDER", help="move it to the project of this folder")
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session, resolve_folder

    source = open_session(options, options.id)
    from clew.edit.plan import plan

    edit = plan(source)
    if options.at is not None:
        edit = edit.end_with(options.at)
    if options.to is not None:
        edit = edit.move(resolve_folder(options, options.to))
    return edit_output.finish(options, edit)
