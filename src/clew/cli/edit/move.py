"""`clew move`: let all sessions of a project follow its folder."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from functools import partial

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, format_size, is_terminal, print_json, print_message
from clew.errors import Ambiguous, NotFound, Refused
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from clew.edit.move_project import MovePlan
    from clew.wire.path_mapping import PathMapping


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("old", metavar="OLD", help="the folder before the move: its path, or the name of a project")
    command.add_argument("new", metavar="NEW", help="the folder now")
    command.add_argument(
        "--settings", action="store_true", help="also move the settings of the project in ~/.claude.json"
    )
    command.add_argument("--copy", action="store_true", help="copy the sessions, with new ids, and leave the old ones")
    command.add_argument("--dry-run", action="store_true", help="show what would move and change nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_tree
    from clew.edit.move_files import finish_interrupted

    if options.copy:
        from clew.edit.copy_project import plan_copies as plan_all
    else:
        from clew.edit.move_project import plan_move as plan_all

    tree = open_tree(options)
    old, new = _old_path(options), _path(options.new)
    if old == new:
        raise Refused([f"{old} is both the old and the new folder"], hint="Name the folder before and after the move.")
    finished = None if options.dry_run or options.copy else finish_interrupted(old, new)
    try:
        plan = plan_all(tree, old, new)
    except NotFound:
        if finished is None:
            raise
        _print_finished(options, finished.number)
        return 0
    settings = None if options.copy else _settings(tree.root, plan.paths)
    number = None if options.dry_run else _move(options, plan, settings)
    if options.json:
        print_json([_json(plan, number, settings)])
    else:
        _print(options, plan, number, settings)
    return 1 if plan.stays and not plan.job.files else 0


def _move(options: Namespace, plan: MovePlan, settings: Settings | None) -> str | None:
    from msgspec.structs import replace

    from clew.edit.move_files import move_files
    from clew.edit.project_settings import moved_settings

    job = plan.job
    if options.settings and settings and not options.copy:
        job = replace(job, rewrites={**job.rewrites, settings[0]: partial(moved_settings, plan.paths)})
    return move_files(job) if job.files or job.rewrites else None


# -- what is named


def _old_path(options: Namespace) -> str:
    """Return the folder before the move. It may not exist any more; a name without a separator is that of a project."""
    from clew.cli.select_session import open_tree
    from clew.wire.lookup import find_project
    from clew.wire.path_mapping import is_windows_path

    name: str = options.old
    if is_windows_path(name) or os.sep in name or name.startswith("~") or os.path.isdir(name):
        return _path(name)
    try:
        return find_project(open_tree(options), name).path().path
    except (NotFound, Ambiguous):
        if os.path.lexists(name):
            return _path(name)
        raise


def _path(name: str) -> str:
    from clew.wire.path_mapping import is_windows_path

    if is_windows_path(name) and os.name != "nt":
        return name.rstrip("\\/")
    path = os.path.abspath(os.path.expanduser(name))  # noqa: PTH100, PTH111
    return os.path.realpath(path) if os.path.isdir(path) else path  # as Claude Code names a folder


Settings = tuple["Path", dict[str, tuple[str, ...]]]


def _settings(root: Path, paths: PathMapping) -> Settings | None:
    """Return the settings of the moved projects and the file that contains them."""
    from clew.edit.project_settings import project_settings, settings_file

    file = settings_file(root)
    settings = project_settings(file, paths) if file else {}
    return (file, settings) if file and settings else None


# -- output


def _json(plan: MovePlan, number: str | None, settings: Settings | None) -> dict[str, Any]:
    return {
        "kind": "move",
        "old": plan.paths.old,
        "new": plan.paths.new,
        "moved": number is not None,
        "undo": number,
        "sessions": list(plan.sessions),
        "folders": plan.folders,
        "files": len(plan.job.files),
        "agents": plan.agents,
        "prompts": plan.prompts,
        "bytes": plan.bytes,
        "stays": list(plan.stays),
        "settings": {path: list(names) for path, names in settings[1].items()} if settings else {},
    }


def _print(options: Namespace, plan: MovePlan, number: str | None, settings: Settings | None) -> None:
    from clew.edit.move_project import count_files
    from clew.wire.path_mapping import is_windows_path

    paths = plan.paths
    done, would = ("Copied", "Would copy") if options.copy else ("Moved", "Would move")
    verb = would if options.dry_run else done
    count = plural(len(plan.sessions), "session")
    print(clean_name(f"{verb} {count} ({format_size(plan.bytes)}) from {paths.old} to {paths.new}."))
    for old, new in plan.folders.items():
        counts = ", ".join(plural(n, kind) for kind, n in count_files(plan, old).items())
        print(clean_name(f"  {old} → {new}: {counts}"))
    if plan.prompts:
        print(f"  history.jsonl: {plural(plan.prompts, 'prompt')}")
    for reason in plan.stays:
        print(clean_name(f"  stays: {reason}"))
    _print_settings(options, settings)
    if options.quiet:
        return
    if not os.path.isdir(paths.new) and not is_windows_path(paths.new):
        print_message(clean_name(f"{paths.new} does not exist. Move the folder there before you resume a session."))
    if number and is_terminal():
        print(f"Undo with:  clew undo {number}", file=sys.stderr)
        if not options.copy:
            print(f"Delete the kept old files with:  clew undo {number} --forget", file=sys.stderr)


def _print_settings(options: Namespace, settings: Settings | None) -> None:
    if not settings:
        return
    file, projects = settings
    for project, names in projects.items():
        print(clean_name(f"  {file.name}, settings of {project}: {', '.join(names) or 'none in use'}"))
    if not options.settings and not options.quiet:
        print_message("These settings were not changed. Move them too with --settings.")


def _print_finished(options: Namespace, number: str) -> None:
    if options.json:
        print_json([{"kind": "move", "moved": True, "undo": number, "completed": True}])
    else:
        print("Completed the move that was interrupted.")
