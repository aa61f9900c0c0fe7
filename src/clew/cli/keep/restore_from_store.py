"""`clew restore --store`: bring a session of a store to this machine, so that Claude Code can resume it."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.cli.select_session import open_tree
from clew.collect.mirror.store_tree import MirroredFile, StoreTree
from clew.conversation.session_listing import Outline
from clew.errors import NotFound, Refused
from clew.system import shell_quoting
from clew.system.plural import plural
from clew.wire.layout import Project, SessionFile
from clew.wire.lookup import find_project, find_session
from clew.wire.session_writer import create_exactly, find_leftover_drafts


class StoredCopy(NamedTuple):
    """A file of the mirror, where it goes, and whether something is there already."""

    session: str
    source: Path
    target: Path
    file: MirroredFile
    is_taken: bool


def restore_from_store(options: Namespace, base: Path) -> int:
    """Write the files of the chosen sessions below a folder of Claude Code. Nothing is written over."""
    tree: StoreTree = options.store_tree
    if options.generations or options.archive:
        raise Refused(["a store has the newest state of a session: leave out --generations and --archive"])
    sessions = _choose(options, base, tree)
    copies = [copy for session in sessions for copy in _copies(tree, session, base)]
    incomplete = [copy for copy in copies if copy.file.damaged and not copy.is_taken]
    if incomplete and not options.skip_damaged:
        name = clean_name(incomplete[0].file.path)
        hint = "Write the other lines with --skip-damaged."
        raise Refused([f"{name} lacks {plural(incomplete[0].file.damaged, 'line')} in the store"], hint=hint)
    new = [copy for copy in copies if not copy.is_taken]
    for copy in reversed(new if not options.dry_run else []):  # a session comes after its agents
        for draft in find_leftover_drafts(copy.target):
            draft.unlink(missing_ok=True)
        create_exactly(copy.target, (copy.source.read_bytes(),))
    if options.json:
        print_json(map(_copy_json, copies, [options.dry_run] * len(copies)))
    else:
        for copy in new:
            print(clean_name(str(copy.target)))
    if not options.quiet:
        _print_remarks(options, sessions, copies)
    return 0


def _choose(options: Namespace, base: Path, tree: StoreTree) -> list[SessionFile]:
    """Return the session with this id, or those of a project or of all that are not there."""
    mirror = open_tree(options)
    if options.id:
        return [find_session(mirror, options.id)]
    projects = [find_project(mirror, options.project)] if options.project else mirror.projects()
    files = [file for project in projects for file in project.sessions() if not file.is_empty]
    missing = [file for file in files if not os.path.lexists(base / tree.file(file.path).path)]
    if not missing:
        raise NotFound(options.project or "--all", "missing session", hint=f"{base} has all that the store has.")
    return missing


def _copies(tree: StoreTree, session: SessionFile, base: Path) -> Iterator[StoredCopy]:
    agents = [agent for agent in Project(session.project_folder).agents() if agent.session_id == session.id]
    for path in (session.path, *(agent.path for agent in agents)):
        file = tree.file(path)
        if file.path:
            target = base / file.path
            yield StoredCopy(session.id, path, target, file, os.path.lexists(target))


def _copy_json(copy: StoredCopy, is_preview: bool) -> dict[str, object]:
    return {
        "kind": "restored",
        "session": copy.session,
        "path": str(copy.target),
        "bytes": copy.source.stat().st_size,
        "written": not copy.is_taken and not is_preview,
        "was_there": copy.is_taken,
        "masked": copy.file.masked,
        "damaged": copy.file.damaged,
        "developer": copy.file.developer,
        "machine": copy.file.machine,
    }


def _print_remarks(options: Namespace, sessions: list[SessionFile], copies: list[StoredCopy]) -> None:
    new = [copy for copy in copies if not copy.is_taken]
    if len(new) < len(copies):
        print_message(f"{plural(len(copies) - len(new), 'file')} there already; nothing is written over.")
    if masked := sum(copy.file.masked for copy in new):
        print_message(
            f"{plural(masked, 'secret')} of it masked in the store: the copy differs from the original there."
        )
    size = format_size(sum(copy.source.stat().st_size for copy in new))
    if options.dry_run:
        print_message(f"{size} would be written.")
    elif new and len(sessions) == 1:
        folder = Outline(sessions[0]).cwd or ""
        command = shell_quoting.resume_command(sessions[0].id, folder)
        print_message(f"{size} written. Resume it: {command}")
        if folder and not os.path.isdir(folder):
            move = shell_quoting.clew_command("move", folder)
            print_message(clean_name(f"{folder} is not here. If the project is elsewhere, first: {move} NEW"))
    elif new:
        print_message(f"{plural(len(sessions), 'session')}, {size} written.")
