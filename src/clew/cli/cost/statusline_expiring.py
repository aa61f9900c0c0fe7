"""Look up for the status line which sessions Claude Code deletes soon; the status line does this once an hour."""

from __future__ import annotations

import os
from pathlib import Path

from clew.collect.expiring_sessions import expiring_sessions
from clew.errors import READ_ERRORS
from clew.system.plural import plural
from clew.wire.layout import Tree
from clew.wire.session_writer import replace


def describe_expiring(root: str, saved: str) -> str:
    """Describe the sessions that expire in a few words, and save the text for the next hour."""
    try:
        tree = Tree(Path(root))
        count = len(expiring_sessions(root, (file for project in tree.projects() for file in project.sessions())))
        text = f"{plural(count, 'session expires', 'sessions expire')}: clew collect" if count else ""
        os.makedirs(os.path.dirname(saved), mode=0o700, exist_ok=True)  # noqa: PTH103
        replace(saved, text.encode())
    except READ_ERRORS:
        return ""
    return text
