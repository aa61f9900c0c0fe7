"""`clew tag`: set the tag of a session."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument("tag", nargs="?", help="the new tag, which replaces the old one")
    which.add_argument("--clear", action="store_true", help="remove the tag")
    command.add_argument("--dry-run", action="store_true", help="say what would be done and write nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.edit.retitle import print_title_change
    from clew.cli.select_session import open_session

    source = open_session(options, options.id)
    from clew.edit.rename_session import tag

    return print_title_change(options, source.id, tag(source, options.tag or "", dry_run=options.dry_run), "tag")
