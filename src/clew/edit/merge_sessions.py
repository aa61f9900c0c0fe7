"""Merge a session that was continued in two places into one tree with both branches.

Entries with the same uuid are the same. The first session keeps its order; entries that only the other has follow
the last common line, or come at the end if the other was continued later. The conversation continues from the newer
leaf.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs
from msgspec.structs import replace

from clew.conversation.session import Session
from clew.edit.relink import pin_leaf
from clew.edit.salvaged_entries import split_damaged
from clew.errors import Refused
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import renumber, revise
from clew.wire.entry_types import FileHistorySnapshot, SnapshotDelta
from clew.wire.json_codec import encode
from clew.wire.layout import SessionFile, session_at

if TYPE_CHECKING:
    from clew.edit.plan import Plan

_VERSIONED = re.compile(r"(.+)@v(\d+)")
_OUTPUT = re.compile(r".*[\\/]([^\\/]+)[\\/]tool-results[\\/]([^\\/]+)")
_SESSION = ("sessionId", "session_id")
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Merged(Struct, frozen=True):
    """Counts of entries in both sessions, in the first and in the other alone, and the entries that differ."""

    common: int = 0
    first: int = 0
    other: int = 0
    differing: tuple[str, ...] = ()  # uuids under which the two say different things; the first's counts
    files: int = 0  # that come from the other
    renamed: tuple[str, ...] = ()  # saved files whose names were taken


def merge(plan: Plan, other: Session) -> tuple[Plan, Merged]:
    """Return a plan that adds everything the other session has. Raises Refused if they share nothing, or it has
    nothing more.
    """
    ours, theirs = plan.session, split_damaged(other)
    merged = _compare(ours, theirs)
    if not merged.common:
        raise Refused(
            [f"{plan.source.id[:8]} and {other.id[:8]} share no entry, so they are not copies of one session"]
        )
    if not merged.other:
        raise Refused([f"{other.id[:8]} has no entry that {plan.source.id[:8]} lacks"])
    extra, agents, names = _plan_files(plan, other)
    added = tuple(_move_paths(item, plan, other, names) for item in _added_items(ours, theirs))
    items = renumber(_insert_items(ours, theirs, added))
    newest = max((ours, theirs), key=_end_time)
    items = pin_leaf(items, Session(items, file=ours.file), newest.leaf.uuid if newest.leaf else None)
    result = structs.replace(
        plan.then(items, f"merge with {other.id}"),
        extra={**plan.extra, **extra},
        agents={**plan.agents, **agents},
    )
    renamed = tuple(f"{old} → {new}" for old, new in names.items())
    return result, replace(merged, files=len(extra) + len(agents), renamed=renamed)


# -- lines


def count_missing(first: Session, other: Session) -> int:
    """Return the number of entries that only the other session has."""
    return _compare(first, split_damaged(other)).other


def _compare(first: Session, other: Session) -> Merged:
    first_entries, other_entries = ({e.uuid: e for e in s.entries if e.uuid} for s in (first, other))
    both = first_entries.keys() & other_entries.keys()
    differing = tuple(
        u for u in first_entries if u in both and _comparison_key(first_entries[u]) != _comparison_key(other_entries[u])
    )
    return Merged(len(both), len(first_entries) - len(both), len(other_entries) - len(both), differing)


def _added_items(first: Session, other: Session) -> list[Item]:
    """Return what only the other has: its entries, and lines without uuid that are new or follow the first added
    entry.
    """
    known = {e.uuid for e in first.entries if e.uuid}
    lines = {_comparison_key(item) for item in first.items if not (isinstance(item, Entry) and item.uuid)}
    added: list[Item] = []
    follows_added = False
    for item in other.items:
        if isinstance(item, Entry) and item.uuid:
            if item.uuid not in known:
                added.append(item)
                follows_added = True
        elif follows_added or _comparison_key(item) not in lines:
            added.append(item)
    return added


def _insert_items(first: Session, other: Session, added: tuple[Item, ...]) -> list[Item]:
    items = list(first.items)
    if _end_time(other) >= _end_time(first):
        return [*items, *added]
    # Example: a b c here and a b x y there give a b x y c, so that c, the newer branch, stays last.
    known = {e.uuid for e in other.entries if e.uuid}
    last = max(i for i, item in enumerate(items) if isinstance(item, Entry) and item.uuid in known)
    return [*items[: last + 1], *added, *items[last + 1 :]]


def _end_time(session: Session) -> datetime:
    return (session.leaf.time if session.leaf else None) or session.ended or _EARLIEST


def _comparison_key(item: Item) -> Any:
    """Return the content of an item without its session id."""
    if not isinstance(item, Entry):
        return item.raw.strip()
    return encode({name: value for name, value in item.data.items() if name not in _SESSION})


def _move_paths(item: Item, plan: Plan, other: Session, names: Mapping[str, str]) -> Item:
    """Return an entry of the other session with the paths and names of its files changed to the first session."""
    if not isinstance(item, Entry):
        return item
    changes: dict[str, Any] = {}
    result = item.data.get("toolUseResult")
    if isinstance(result, dict) and isinstance(path := result.get("persistedOutputPath"), str):
        match = _OUTPUT.fullmatch(path)  # as the other machine named it
        if match and match[1] == other.id:
            moved = _session_file(plan.source).folder / "tool-results" / match[2]
            changes["toolUseResult"] = {"persistedOutputPath": encode(str(moved))}
    if names and item.type == "file-history-snapshot":
        backups = FileHistorySnapshot.of(item).backups
        changed = {p: _backup_fields(names[b.name]) for p, b in backups.items() if b.name and b.name in names}
        changes |= {"snapshot": {"trackedFileBackups": changed}} if changed else {}
    elif names and item.type == "file-history-delta":
        backup = SnapshotDelta.of(item).backup
        changes |= (
            {"backup": _backup_fields(names[backup.name])} if backup and backup.name and backup.name in names else {}
        )
    return revise(item, changes) if changes else item


def _backup_fields(name: str) -> dict[str, bytes]:
    version = _VERSIONED.fullmatch(name)
    return {"backupFileName": encode(name), **({"version": encode(int(version[2]))} if version else {})}


# -- files


def _plan_files(plan: Plan, other: Session) -> tuple[dict[str, Path | Session], dict[str, Session], dict[str, str]]:
    """Return the files to add, agents in both sessions, and new names for saved files whose names are taken."""
    first, second = _session_file(plan.source), _session_file(other)
    extra, agents = _plan_agents(plan, other)
    outputs = {path.name: path for path in first.tool_results()}
    clashes = []
    for path in second.tool_results():
        if path.name not in outputs:
            extra[f"tool-results/{path.name}"] = path
        elif path.read_bytes() != outputs[path.name].read_bytes():
            clashes.append(f"both have a tool-results/{path.name}, and they differ")
    if clashes:
        raise Refused(clashes)
    saved = {path.name: path for path in _history_files(first)}
    names: dict[str, str] = {}
    other_saved = {path.name: path for path in _history_files(second)}
    for name, path in other_saved.items():
        if name in saved and path.read_bytes() == saved[name].read_bytes():
            continue
        free = name if name not in saved else _free_version(name, {*saved, *other_saved, *names.values()})
        names |= {name: free} if free != name else {}
        extra[f"file-history/{free}"] = path
    return extra, agents, names


def _plan_agents(plan: Plan, other: Session) -> tuple[dict[str, Path | Session], dict[str, Session]]:
    """Return the agents that only the other has, and merged agents that both have."""
    known = {a.id: plan.agents.get(a.id, a.session) for a in plan.source.agents if a.file}
    extra: dict[str, Path | Session] = {}
    agents: dict[str, Session] = {}
    inside = _session_file(other).folder / "subagents"
    for agent in other.agents:
        if agent.file is None:
            continue
        path = agent.file.path
        if agent.id in known:
            added = _added_items(known[agent.id], agent.session)
            if added:
                agents[agent.id] = Session(renumber((*known[agent.id].items, *added)), file=known[agent.id].file)
            continue
        below = path.relative_to(inside) if path.is_relative_to(inside) else Path(path.name)
        extra[f"subagents/{below.as_posix()}"] = agent.session
        meta = path.with_suffix(".meta.json")
        if meta.is_file():
            extra[f"subagents/{below.with_suffix('.meta.json').as_posix()}"] = meta
    return extra, agents


def _free_version(name: str, used: set[str]) -> str:
    """Return the next free version name of a saved file."""
    match = _VERSIONED.fullmatch(name)
    stem, number = (match[1], int(match[2])) if match else (name, 0)
    # "0123abcd@v2" gives "0123abcd@v3" if both have a different @v2.
    while f"{stem}@v{number}" in used:
        number += 1
    return f"{stem}@v{number}"


def _history_files(file: SessionFile) -> list[Path]:
    folder = file.project_folder.parent.parent / "file-history" / file.id
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def _session_file(session: Session) -> SessionFile:
    if isinstance(session.file, SessionFile):
        return session.file
    if session.path is None:
        raise Refused(["a session that is not in a file cannot be merged"])
    return session_at(session.path)
