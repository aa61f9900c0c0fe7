"""Make two folders of Claude Code equal by union: each gets the sessions and lines that it lacks; nothing is deleted.

A session that was continued in both is joined in a new session, whose id follows from the two copies: another sync
finds it and does not join them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256

from msgspec import Struct

from clew.edit.arrival import Arrival
from clew.edit.kept_files import digest
from clew.edit.receive_sessions import Received, plan_all, receive
from clew.wire.layout import Tree
from clew.wire.session_parts import SessionParts, collect_parts


class SyncResult(Struct, frozen=True):
    """What happened to one session in one tree, or would happen."""

    session: str
    state: str
    merged: str = ""
    problem: str = ""


def tree_sessions(tree: Tree, only: Collection[str] | None = None) -> list[SessionParts]:
    """Return the files of all sessions of a tree that are not empty."""
    files = (file for project in tree.projects() for file in project.sessions() if not file.is_empty)
    return [collect_parts(file, memory=True) for file in files if only is None or file.id in only]


def session_digest(parts: SessionParts) -> str:
    """Return a digest of all files of a session, to compare it with the copy on another machine."""
    rows = (f"{name}/{digest(path)}" for name, path in sorted(parts.files.items()) if "/memory/" not in name)
    return sha256("\n".join(rows).encode()).hexdigest()


def inventory(tree: Tree) -> dict[str, str]:
    """Return the digest of each session of a tree."""
    return {parts.id: session_digest(parts) for parts in tree_sessions(tree)}


def plan_sync(source: Tree, target: Tree) -> list[Arrival]:
    """Plan what a tree gets from another; sessions that need nothing are left out."""
    return changed_arrivals(plan_all(tree_sessions(source), target))


def changed_arrivals(arrivals: Sequence[Arrival]) -> list[Arrival]:
    return [arrival for arrival in arrivals if arrival.changes or arrival.state == "busy"]


def sync_into(source: Tree, target: Tree) -> list[SyncResult]:
    """Copy what a tree lacks from another."""
    arrivals = plan_sync(source, target)
    return sync_results(receive(arrivals, target, f"sync from {source.root}", str(source.root))[1])


def sync_results(results: Iterable[Received]) -> list[SyncResult]:
    return [SyncResult(r.arrival.id, r.arrival.state, r.arrival.merged_id, r.problem) for r in results]
