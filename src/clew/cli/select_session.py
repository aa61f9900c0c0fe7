"""Find the session that a command is about: by id, by a part of it, by path, or the newest."""

from __future__ import annotations

import os

from clew.cli.output import print_message
from clew.collect.archive import archive_view
from clew.conversation import session
from clew.errors import Ambiguous, NotFound
from clew.system import shell_quoting
from clew.system.environment import cache_home, claude_home
from clew.system.file_errors import ErrorCollector, unreadable_reason
from clew.wire import content_time, lookup
from clew.wire.layout import SessionFile, Tree, claude_dir, session_at
from clew.wire.tree_walk import find_unlisted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from clew.conversation.session import Session
    from clew.conversation.session_listing import Outline

    SortKey = Callable[[SessionFile], tuple[float, float, str]]


def open_tree(options: Namespace) -> Tree:
    """Return the tree of session files in the folder of Claude Code."""
    return Tree(claude_dir(options.claude_dir))


def open_session(options: Namespace, name: str | None, *, archived: bool = False) -> Session:
    """Open the session with this id or path; without one, the newest of the current project, else the newest of all.

    `archived` also accepts a session that is only in the archive: for commands that only read.
    """
    file = find_file(options, name, archived) if name is not None else newest_session(open_tree(options))
    return session.Session(file.path, file=file)


def find_file(options: Namespace, name: str, archived: bool) -> SessionFile:
    """Find the file of a session by its id. One that was deleted is reported, or taken from the archive."""
    try:
        return lookup.find_session(open_tree(options), name)
    except NotFound as missing:
        if archived and (agent := _agent_file(open_tree(options), name)):
            return agent
        archive = archive_view.open_deleted_tree(options.claude_dir)
        if archive is None:
            raise _gone_error(options, name) or missing from None
        try:
            file = lookup.find_session(Tree(archive.folder), name)
        except NotFound:
            raise _gone_error(options, name) or missing from None
        is_reconstructed = file.id in archive.reconstructed
        if not archived:
            command = shell_quoting.session_command("restore", file.id)
            hint = "Its transcript is lost." if is_reconstructed else f"Restore it from the archive with: {command}"
            raise NotFound(missing.asked, missing.kind, hint=hint) from None
        if not options.quiet:
            notice = "This session is only in the archive. Restore it with:"
            print_message(
                "This session was reconstructed from what was left of it."
                if is_reconstructed
                else f"{notice} {shell_quoting.session_command('restore', file.id)}"
            )
        return file


def _gone_error(options: Namespace, name: str) -> NotFound | None:
    from clew.cli.find.gone_sessions_error import gone_by_id

    return gone_by_id(options, name)


def _agent_file(tree: Tree, name: str) -> SessionFile | None:
    """Find the file of a sub-agent by its id or the beginning of it."""
    beginning = name.lower().removeprefix("agent-")
    agents = (agent for project in tree.projects() for agent in project.agents()) if beginning else ()
    matches = [agent for agent in agents if agent.id.startswith(beginning)]
    if len({agent.id for agent in matches}) > 1:
        raise Ambiguous(name, sorted({agent.id for agent in matches}), kind="agents")
    return session_at(matches[0].path) if matches else None


def newest_session(tree: Tree) -> SessionFile:
    """Return the newest session of the current project, else of all projects. Raises NotFound if there is none."""
    try:
        in_project = [f for f in lookup.find_project(tree, os.getcwd()).sessions() if not f.is_empty]
    except (NotFound, Ambiguous):
        in_project = []
    candidates = in_project or [f for p in tree.projects() for f in p.sessions() if not f.is_empty]
    if not candidates:
        raise NotFound(
            str(tree.root),
            "session folder",
            hint="Name another folder with --claude-dir, or create a demo: clew demo DIR",
        )
    return min(candidates, key=content_time.sort_key)


def resolve_folder(options: Namespace, name: str) -> str:
    """Return the path of a folder that exists, without links, or of the project that this name matches.

    Claude Code names a project by the path without links.
    """
    path = os.path.abspath(os.path.expanduser(name))  # noqa: PTH100, PTH111
    if os.path.isdir(path):
        return os.path.realpath(path)
    try:
        return lookup.find_project(open_tree(options), name).path().path
    except (NotFound, Ambiguous):
        if os.sep in name:
            return path
        raise


def session_files(options: Namespace, tree: Tree | None = None, key: SortKey | None = None) -> Iterator[SessionFile]:
    """Session files selected by the common options, newest first."""
    yield from _newest_first(list(_selected_files(options, tree or open_tree(options))), key)


def all_session_files(options: Namespace, key: SortKey | None = None) -> Iterator[SessionFile]:
    """Session files on the disk and in the archive, newest first; with `--archived` only those in the archive."""
    archive = archive_view.open_deleted_tree(options.claude_dir)
    trees = ([] if options.archived else [open_tree(options)]) + ([Tree(archive.folder)] if archive else [])
    files: list[SessionFile] = []
    missing: list[NotFound] = []
    for tree in trees:
        try:
            files += _selected_files(options, tree)
        except NotFound as error:  # the project may be in only one of the trees
            missing.append(error)
    if missing and len(missing) == len(trees):
        raise missing[0]
    yield from _newest_first(files, key)


def _selected_files(options: Namespace, tree: Tree) -> Iterator[SessionFile]:
    """Yield the session files of a tree that the common options select, project by project."""
    for project in [lookup.find_project(tree, options.project)] if options.project else tree.projects():
        for file in project.sessions():
            if not file.is_empty and content_time.is_within(file, options.since, options.until):
                yield file


def _newest_first(files: list[SessionFile], key: SortKey | None) -> Iterator[SessionFile]:
    """Yield files newest first, and take each from the list: there can be 100,000."""
    files.sort(key=key or content_time.sort_key)
    files.reverse()
    while files:
        yield files.pop()


def read_outlines(options: Namespace, fence: ErrorCollector) -> Iterator[Outline]:
    """Outlines of the conversations among the session files. Files with state only, or of a sub-agent, are skipped."""
    from clew.report.outline_store import OutlineStore  # only lists need a database

    shown = 0
    cache = None if getattr(options, "store_tree", None) else cache_home()  # nothing is kept of the sessions of others
    with OutlineStore(claude_home(options.claude_dir), cache) as store:
        for file in store.load_rows(all_session_files(options, store.sort_key)):
            if options.limit is not None and shown >= options.limit:
                return
            outline: Outline | None = None
            with fence.catch(file.location):
                outline = store.outline(file)
            if outline and outline.is_conversation and not outline.is_sidechain:
                shown += 1
                yield outline


def error_fence(options: Namespace) -> ErrorCollector:
    """Collect files that cannot be read, and report them on stderr unless the command is quiet."""
    return ErrorCollector() if options.quiet else ErrorCollector(print_message)


def report_unlisted_folders(options: Namespace, fence: ErrorCollector) -> None:
    """Report the folders that could not be listed; their sessions are missing from the output."""
    root = open_tree(options).root
    for path in find_unlisted(str(root)):
        if path != str(root) or os.path.lexists(root):
            fence.add(path, unreadable_reason(path))
