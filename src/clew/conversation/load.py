"""Doors: a session from a path, from an id, or every session that fits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

from clew.conversation.cli_version import NEWEST
from clew.conversation.resume_request import Request, build
from clew.conversation.session import Session
from clew.wire.layout import Tree, claude_dir, session_at
from clew.wire.lookup import find_project, find_session
from clew.wire.timestamps import moment

Root = str | os.PathLike[str] | None


def read(path: str | os.PathLike[str]) -> Session:
    """The session in a file."""
    file = session_at(path)
    return Session(file.path, file=file)


def find(asked: str, *, claude: Root = None) -> Session:
    """The session with an id, or enough of one. Raises NotFound or Ambiguous."""
    file = find_session(Tree(claude_dir(claude)), asked)
    return Session(file.path, file=file)


def sessions(
    project: str | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    *,
    claude: Root = None,
) -> Iterator[Session]:
    """Sessions by the time of their files, newest first; nothing is parsed before it is asked for."""
    tree = Tree(claude_dir(claude))
    projects = [find_project(tree, project)] if project else tree.projects()
    after, before = (moment(t).timestamp() * 1e9 if t else None for t in (since, until))
    files = [f for p in projects for f in p.sessions() if not f.is_empty]
    for file in sorted(files, key=lambda f: (-f.mtime_ns, f.id)):
        if (after is None or file.mtime_ns >= after) and (before is None or file.mtime_ns < before):
            yield Session(file.path, file=file)


def request(session: Session, version: str = NEWEST, prompt: str | None = None) -> Request:
    """What a resume of this session would send, as one version of Claude Code would make it."""
    return build(session.items, version, prompt)
