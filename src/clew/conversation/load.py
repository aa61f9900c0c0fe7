"""Open sessions: from a path, by id, or all that match a project and a time range."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

from clew.conversation.cli_version import NEWEST
from clew.conversation.resume_request import Request, build_request
from clew.conversation.session import Session
from clew.wire.content_time import is_within, newest_first
from clew.wire.layout import Tree, claude_dir, session_at
from clew.wire.lookup import find_project, find_session
from clew.wire.timestamps import parse_user_time

Root = str | os.PathLike[str] | None


def read(path: str | os.PathLike[str]) -> Session:
    """Return the session in a file."""
    file = session_at(path)
    return Session(file.path, file=file)


def find(id_prefix: str, *, claude: Root = None) -> Session:
    """Return the session with an id or a unique beginning of one. Raises NotFound or Ambiguous."""
    file = find_session(Tree(claude_dir(claude)), id_prefix)
    return Session(file.path, file=file)


def sessions(
    project: str | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    *,
    claude: Root = None,
) -> Iterator[Session]:
    """Yield sessions by the time of their last entry, newest first; a file is parsed when the session is used."""
    tree = Tree(claude_dir(claude))
    projects = [find_project(tree, project)] if project else tree.projects()
    after, before = (parse_user_time(t) if t else None for t in (since, until))
    files = (f for p in projects for f in p.sessions() if not f.is_empty and is_within(f, after, before))
    for file in newest_first(files):
        yield Session(file.path, file=file)


def request(session: Session, version: str = NEWEST, prompt: str | None = None) -> Request:
    """Return what one version of Claude Code would send to resume this session."""
    has_worktree = any(entry.type == "worktree-state" for entry in session.entries)  # whether it exists can change
    if version == NEWEST and prompt is None and not has_worktree:
        return session.resume_request
    return build_request(session.items, version, prompt, link=session.link_for_resume)
