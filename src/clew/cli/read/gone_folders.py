"""Suggest `clew move` when the folder of a listed project no longer exists."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from clew.cli.output import clean_name, is_terminal, print_message
from clew.system.plural import plural
from clew.system.shell_quoting import clew_command


def suggest_move(projects: Iterable[str]) -> None:
    """Print one line on a terminal if folders of listed projects are gone, as after a move or a rename."""
    if not is_terminal():
        return
    named = (path for path in projects if path.isprintable() and Path(path).is_absolute())
    gone = sorted(path for path in named if not os.path.lexists(path))
    if gone:
        count = plural(len(gone), "project folder does", "project folders do")
        print_message(
            clean_name(f"{count} not exist. If one was moved or renamed: {clew_command('move', gone[0])} NEW")
        )
