"""Which session is meant: an id, a part of one, a path, or the newest at hand."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from heapq import merge
from itertools import chain

from clew.cli.output import remark
from clew.collect.archive.deleted_tree import attic_of, open_attic
from clew.conversation.session import Session
from clew.conversation.session_listing import Outline
from clew.errors import Ambiguous, NotFound
from clew.system import shell_quoting
from clew.system.file_errors import ErrorCollector, unreadable_reason
from clew.wire.layout import SessionFile, Tree, claude_dir, session_at
from clew.wire.lookup import find_project, find_session
from clew.wire.tree_walk import walk


def tree(options: Namespace) -> Tree:
    return Tree(claude_dir(options.claude_dir))


def session(options: Namespace, asked: str | None, *, archived: bool = False) -> Session:
    """The session asked for; with nothing asked the newest of this folder's project, else the newest of all.

    `archived` also takes one that is in the archive alone: for those who only read.
    """
    file = find(options, asked, archived) if asked is not None else newest(tree(options))
    return Session(file.path, file=file)


def find(options: Namespace, asked: str, archived: bool) -> SessionFile:
    """The session with an id. One that is gone from the disk is told of, or taken from the attic."""
    try:
        return find_session(tree(options), asked)
    except NotFound as missing:
        if archived and (agent := _agent(tree(options), asked)):
            return agent
        attic = open_attic(options.claude_dir)
        if attic is None:
            raise _gone(options, asked) or missing from None
        try:
            file = find_session(Tree(attic.folder), asked)
        except NotFound:
            raise _gone(options, asked) or missing from None
        is_rebuilt = file.id in attic.reconstructed
        if not archived:
            missing.hint = (
                "It is lost."
                if is_rebuilt
                else f"It is in the archive: {shell_quoting.session_command('restore', file.id)}"
            )
            raise missing from None
        if not options.quiet:
            kept = "This session is in the archive alone. Bring it back:"
            remark(
                "This session was reconstructed from what was left of it."
                if is_rebuilt
                else f"{kept} {shell_quoting.session_command('restore', file.id)}"
            )
        return file


def _gone(options: Namespace, asked: str) -> NotFound | None:
    from clew.cli.find.gone_sessions_error import gone_by_id

    return gone_by_id(options, asked)


def _agent(place: Tree, asked: str) -> SessionFile | None:
    """The file of a sub-agent by its id, or the beginning of it."""
    beginning = asked.lower().removeprefix("agent-")
    agents = (agent for project in place.projects() for agent in project.agents()) if beginning else ()
    found = [agent for agent in agents if agent.id.startswith(beginning)]
    if len({agent.id for agent in found}) > 1:
        raise Ambiguous(asked, sorted({agent.id for agent in found}), kind="agents")
    return session_at(found[0].path) if found else None


def newest(place: Tree) -> SessionFile:
    try:
        here = [f for f in find_project(place, os.getcwd()).sessions() if not f.is_empty]
    except (NotFound, Ambiguous):
        here = []
    everywhere = here or [f for p in place.projects() for f in p.sessions() if not f.is_empty]
    if not everywhere:
        missing = NotFound(str(place.root), "session folder")
        missing.hint = "Name another with --claude-dir, or make a demo tree: clew demo DIR"
        raise missing
    return max(everywhere, key=lambda f: (f.mtime_ns, f.id))


def folder(options: Namespace, asked: str) -> str:
    """A folder as it was named, or that of a project which answers to the name."""
    path = os.path.abspath(os.path.expanduser(asked))  # noqa: PTH100, PTH111
    if os.path.isdir(path):
        return path
    try:
        return find_project(tree(options), asked).path().path
    except (NotFound, Ambiguous):
        if os.sep in asked:
            return path
        raise


def files(options: Namespace, place: Tree | None = None) -> Iterator[SessionFile]:
    """Session files by the common options, newest first by their own time."""
    place = place or tree(options)
    projects = [find_project(place, options.project)] if options.project else place.projects()
    found = sorted((f for p in projects for f in p.sessions()), key=_newest_first)
    after = options.since.timestamp() * 1e9 if options.since else None
    before = options.until.timestamp() * 1e9 if options.until else None
    for file in found:
        if (
            not file.is_empty
            and (after is None or file.mtime_ns >= after)
            and (before is None or file.mtime_ns < before)
        ):
            yield file


def _newest_first(file: SessionFile) -> tuple[int, str]:
    return (-file.mtime_ns, file.id)


def all_files(options: Namespace) -> Iterator[SessionFile]:
    """Those on the disk and those that are in the archive alone; with `--archived` only the latter."""
    attic = attic_of(options.claude_dir)
    places = ([] if options.archived else [tree(options)]) + ([Tree(attic)] if os.path.isdir(attic) else [])
    found: list[Iterator[SessionFile]] = []
    missing: NotFound | None = None
    for place in places:
        try:
            first = next(here := files(options, place), None)
        except NotFound as error:  # a project may be in one of them alone
            missing = missing or error
            continue
        found.append(chain([first] if first else [], here))
    if missing and not found:
        raise missing
    yield from merge(*found, key=_newest_first)


def outlines(options: Namespace, fence: ErrorCollector) -> Iterator[Outline]:
    """The conversations among them: files that hold only state, or an agent's talk, are not sessions."""
    shown = 0
    for file in all_files(options):
        if options.limit is not None and shown >= options.limit:
            return
        outline = Outline(file)
        listed = False
        with fence.catch(file.path):
            outline.read()
            listed = outline.is_conversation and not outline.is_sidechain
        if listed:
            shown += 1
            yield outline


def fence_of(options: Namespace) -> ErrorCollector:
    """A fence for the files of a command, which reports them on stderr."""
    return ErrorCollector() if options.quiet else ErrorCollector(remark)


def add_missed(options: Namespace, fence: ErrorCollector) -> None:
    """Report the folders that could not be listed; what they hold is missing from the output."""
    missed: list[str] = []
    root = tree(options).root
    walk(str(root), missed)
    for path in missed:
        if path != str(root) or os.path.lexists(root):
            fence.add(path, unreadable_reason(path))
