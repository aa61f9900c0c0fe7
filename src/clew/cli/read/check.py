"""`clew check`: report damage, lost data, and what each version would resume."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from clew.cli.options import add_common_options, add_jobs_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.conversation.session import Session


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
    add_jobs_option(command, "several sessions: ")
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
    is_one = not (options.inventory or options.drift or options.all)
    session = _selected_session(options) if is_one else None
    from clew.cli.read.check_run import check_session, check_sessions

    return check_session(options, session) if is_one else check_sessions(options)


def _selected_session(options: Namespace) -> Session | None:
    """Return the session with the given id; without an id the newest that the other options select. None if there is
    none.
    """
    from clew.cli.select_session import open_session, session_files

    if options.id or not (options.project or options.since or options.until):
        return open_session(options, options.id, archived=True)
    file = next(session_files(options), None)
    from clew.conversation.session import Session

    return Session(file.path, file=file) if file else None
