"""`clew delete`: delete sessions that the archive has."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options


def add_arguments(command: ArgumentParser) -> None:
    from clew.cli.keep.deletion import add_deletion_options

    command.add_argument("ids", nargs="+", metavar="ID", help="sessions: their ids, the beginnings of them, or paths")
    add_deletion_options(command)
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.keep.deletion import delete_sessions
    from clew.cli.select_session import open_tree
    from clew.errors import Refused
    from clew.wire.lookup import find_session

    tree = open_tree(options)
    sessions = {file.path: file for file in (find_session(tree, id) for id in options.ids)}
    folder = tree.root / "projects"
    if outside := [file for file in sessions.values() if file.project_folder.parent != folder]:
        raise Refused([f"{file.path} is not in {folder}" for file in outside], hint="Name the folder with --claude-dir")
    return delete_sessions(options, sessions.values())
