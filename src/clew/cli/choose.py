"""Which session is meant: an id, a part of one, a path, or the newest at hand."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator

from clew.cli.output import remark
from clew.conversation.outline import Outline
from clew.conversation.session import Session
from clew.errors import Ambiguous, NotFound
from clew.wire.place import SessionFile, Tree, claude_dir, find_project, find_session


def tree(options: Namespace) -> Tree:
    return Tree(claude_dir(options.claude_dir))


def session(options: Namespace, asked: str | None) -> Session:
    """The session asked for; with nothing asked the newest of this folder's project, else the newest of all."""
    file = find_session(tree(options), asked) if asked is not None else newest(tree(options))
    return Session(file.path, file=file)


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


def files(options: Namespace) -> Iterator[SessionFile]:
    """Session files by the common options, newest first by their own time."""
    place = tree(options)
    projects = [find_project(place, options.project)] if options.project else place.projects()
    found = sorted((f for p in projects for f in p.sessions()), key=lambda f: (-f.mtime_ns, f.id))
    after = options.since.timestamp() * 1e9 if options.since else None
    before = options.until.timestamp() * 1e9 if options.until else None
    for file in found:
        if (
            not file.is_empty
            and (after is None or file.mtime_ns >= after)
            and (before is None or file.mtime_ns < before)
        ):
            yield file


def outlines(options: Namespace) -> Iterator[Outline]:
    """The conversations among them: files that hold only state, or an agent's talk, are no sessions."""
    shown = 0
    for file in files(options):
        if options.limit is not None and shown >= options.limit:
            return
        outline = Outline(file)
        try:
            listed = outline.is_conversation and not outline.is_sidechain
        except OSError as error:  # one file that cannot be read, or is gone by now, does not hide the others
            listed = False
            if not options.quiet:
                remark(f"{file.path} cannot be read: {error.strerror}.")
        if listed:
            shown += 1
            yield outline
