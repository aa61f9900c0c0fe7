"""Open sessions: from a path, by id, or all that match a project and a time range."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from clew.conversation import resume_request
from clew.conversation.cli_version import NEWEST
from clew.conversation.session import Session
from clew.wire import content_time, lookup, timestamps
from clew.wire.layout import Tree, claude_dir, session_at

if TYPE_CHECKING:
    from clew.conversation.resume_request import Request

Root = str | os.PathLike[str] | None


def read(path: str | os.PathLike[str]) -> Session:
    """Return the session in a file."""
    file = session_at(path)
    return Session(file.path, file=file)


def find(id_prefix: str, *, claude: Root = None) -> Session:
    """Return the session with an id or a unique beginning of one. Raises NotFound or Ambiguous."""
    file = lookup.find_session(Tree(claude_dir(claude)), id_prefix)
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
    projects = [lookup.find_project(tree, project)] if project else tree.projects()
    after, before = (timestamps.parse_user_time(t) if t else None for t in (since, until))
    files = (f for p in projects for f in p.sessions() if not f.is_empty and content_time.is_within(f, after, before))
    for file in content_time.newest_first(files):
        yield Session(file.path, file=file)


def request(session: Session, version: str = NEWEST, prompt: str | None = None) -> Request:
    """Return what one version of Claude Code would send to resume this session."""
    has_worktree = any(entry.type == "worktree-state" for entry in session.entries)  # whether it exists can change
    if version == NEWEST and prompt is None and not has_worktree:
        return session.resume_request
    return resume_request.build_request(session.items, version, prompt, link=session.version_paths.link)
