"""`clew check`: report damage, lost data, and what each version would resume."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from clew.cli.options import add_common_options, add_jobs_option


def add_arguments(command: ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "id", nargs="?", help="a session: its id, the beginning of it, or a path (default: the newest here)"
    )
    which.add_argument("--all", action="store_true", help="check every session, and list those that are not sound")
    command.add_argument(
        "--drift", action="store_true", help="list unknown names, in all sessions unless one is given; safe to share"
    )
    command.add_argument(
        "--inventory",
        action="store_true",
        help="count the content of sessions in one table, of all sessions unless one is given",
    )
    command.add_argument(
        "--as",
        dest="versions",
        metavar="VERSION",
        type=_parse_version,
        action="append",
        help="judge by what this version of Claude Code would resume (may be repeated)",
    )
    add_jobs_option(command, "--all: ")
    add_common_options(command, lists=True)


def _parse_version(text: str) -> str:
    """Return a version whose way to resume is known: one from the oldest to the newest that was observed."""
    from clew.conversation.cli_version import version_key
    from clew.facts.health import VERSIONS

    is_version = re.fullmatch(r"\d{1,5}\.\d{1,5}\.\d{1,5}", text) is not None
    if not is_version or not version_key(VERSIONS[0]) <= version_key(text) <= version_key(VERSIONS[-1]):
        known = f"from {VERSIONS[0]} to {VERSIONS[-1]}, such as 2.1.29"
        raise ArgumentTypeError(f"{text!r} is not a known version of Claude Code: name one {known}")
    return text


def run(options: Namespace) -> int:
    from clew.cli.read.check_run import check_sessions

    return check_sessions(options)
