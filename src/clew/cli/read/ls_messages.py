"""Messages of `clew ls`: why a list is empty, and which sessions Claude Code deletes soon."""

from __future__ import annotations

import os
from argparse import Namespace
from datetime import UTC, datetime, timedelta

from clew.cli.output import print_message
from clew.cli.select_session import open_tree
from clew.collect.expiring_sessions import expiring_warning
from clew.system.plural import plural


def explain_empty_list(options: Namespace) -> str:
    """Explain why nothing is listed: there is no such folder, a filter leaves nothing, or there is nothing."""
    root = open_tree(options).root
    if options.store_tree:
        return f"No {options.kind} {_describe_filters(options)} in {options.store_tree.store}.".replace("  ", " ")
    if not os.path.isdir(root):
        problem = f"{root} is not a folder" if os.path.lexists(root) else f"There is no folder {root}"
        return f"{problem}. Name the folder of Claude Code with --claude-dir, or create a demo: clew demo DIR"
    filters = _describe_filters(options)
    if not filters:
        return f"No {options.kind} in {root}. Name another folder with --claude-dir, or create a demo: clew demo DIR"
    note = ""
    if options.since and options.since > datetime.now(UTC) - timedelta(days=1):
        note = " In a time, m is minutes and mo is months."
    return f"No {options.kind} {filters} in {root}{_count_without_filters(options)}.{note}"


def _describe_filters(options: Namespace) -> str:
    archived = "in the archive alone" if options.archived else "without a transcript" if options.gone else ""
    project = f"of the project {options.project}" if options.project else ""
    since = f"since {options.since.astimezone():%Y-%m-%d %H:%M}" if options.since else ""
    until = f"before {options.until.astimezone():%Y-%m-%d %H:%M}" if options.until else ""
    return " ".join(filter(None, (archived, project, since, until)))


def _count_without_filters(options: Namespace) -> str:
    if options.kind != "sessions" or options.archived or options.gone:
        return ""
    files = (file for project in open_tree(options).projects() for file in project.sessions() if not file.is_empty)
    return f" ({plural(sum(1 for _ in files), 'session')} without this filter)"


def warn_of_expiring_sessions(options: Namespace) -> None:
    """Warn of sessions that Claude Code deletes soon and that are not archived."""
    tree = open_tree(options)
    files = (file for project in tree.projects() for file in project.sessions())
    if warning := expiring_warning(tree.root, files):
        print_message(warning)
