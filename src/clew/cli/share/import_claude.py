"""`clew import` of a transcript of Claude Code: put it, with the files next to it, where Claude Code finds it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from clew.cli.select_session import resolve_folder
from clew.cli.share import received_output
from clew.errors import Refused
from clew.wire.layout import Tree, session_at


def run(options: Namespace, path: Path, tree: Tree) -> int:
    from clew.edit.receive_sessions import plan_all
    from clew.wire.session_parts import collect_parts

    parts = collect_parts(session_at(path.resolve()))
    if not parts.id:
        raise Refused(
            [f"{path.name} does not name a session"], hint="Name the transcript of a session, not of an agent."
        )
    to = resolve_folder(options, options.to) if options.to else ""
    arrivals = plan_all([parts], tree, to)
    return received_output.finish(options, arrivals, tree, f"import {path.name}", str(path.resolve()))
