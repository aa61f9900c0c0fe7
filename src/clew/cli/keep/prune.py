"""`clew prune`: delete archived sessions that are old, large or empty."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, parse_size, parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.wire.layout import SessionFile


def add_arguments(command: ArgumentParser) -> None:
    from clew.cli.keep.deletion import add_deletion_options

    command.add_argument(
        "--older-than", metavar="WHEN", type=parse_time, help="last used before this: 90d, 6mo, 2026-01-31"
    )
    command.add_argument(
        "--larger-than", metavar="SIZE", type=parse_size, help="larger than this with their side files: 512k, 50M"
    )
    command.add_argument("--empty", action="store_true", help="without a conversation")
    command.add_argument(
        "--project", "-p", metavar="PATH", help="only this project: its path, its name or a part of it"
    )
    add_deletion_options(command)
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.keep.deletion import delete_sessions
    from clew.cli.output import print_message
    from clew.cli.select_session import open_tree
    from clew.errors import Refused

    if not (options.older_than or options.larger_than or options.empty):
        raise Refused(
            ["prune needs to know which sessions"],
            hint="Use --older-than 90d, --larger-than 50M or --empty; together they must all be true.",
        )
    sessions = list(_selected(options))
    if not sessions:
        if not options.quiet:
            print_message(f"No session in {open_tree(options).root} fits. Nothing was deleted.")
        return 1
    return delete_sessions(options, sessions)


def _selected(options: Namespace) -> Iterator[SessionFile]:
    """Yield the sessions that all conditions select, the one used last first."""
    from clew.cli.select_session import open_tree
    from clew.collect.archive.delete_sessions import session_size
    from clew.wire.content_time import last_used, newest_first
    from clew.wire.lookup import find_project

    tree = open_tree(options)
    projects = [find_project(tree, options.project)] if options.project else tree.projects()
    for file in newest_first(file for project in projects for file in project.sessions()):
        is_old = options.older_than is None or last_used(file) < options.older_than
        is_large = options.larger_than is None or session_size(tree, file) > options.larger_than
        if is_old and is_large and (not options.empty or _is_empty(file)):
            yield file


def _is_empty(file: SessionFile) -> bool:
    """Return whether a file contains no messages; an unreadable one counts as a conversation."""
    from clew.conversation.session import Session
    from clew.errors import READ_ERRORS

    try:
        session = Session(file.path, file=file)
        return not session.damage and not any(e.type in ("user", "assistant") for e in session.entries)
    except READ_ERRORS:
        return False
