"""`clew clone`: a copy of a session: whole, up to a turn, or in another project."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from clew.cli import edited
from clew.cli.choose import session, tree
from clew.errors import Ambiguous, NotFound


def arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument(
        "--at", metavar="PLACE", help="end with this turn (-1 is the last), branch (b2) or entry (its uuid)"
    )
    command.add_argument("--to", metavar="FOLDER", help="move it to the project of this folder")
    edited.arguments(command)


def call(options: Namespace) -> int:
    from clew.edit.plan import plan

    found = session(options, options.id)
    made = plan(found)
    if options.at is not None:
        made = made.end_with(options.at)
    if options.to is not None:
        made = made.move(_folder(options))
    return edited.finish(options, made)


def _folder(options: Namespace) -> str:
    """A folder as it was named, or that of a project which answers to the name."""
    from clew.wire.place import find_project

    asked: str = options.to
    path = os.path.abspath(os.path.expanduser(asked))  # noqa: PTH100, PTH111
    if os.path.isdir(path):
        return path
    try:
        return find_project(tree(options), asked).path().path
    except (NotFound, Ambiguous):
        if os.sep in asked:
            return path
        raise
