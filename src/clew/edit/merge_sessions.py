"""Merging: the same session continued in two places becomes one tree with both branches.

Entries are the same if they have the same uuid. The first session keeps its order; what is the other's own comes behind the
last line that both have, or at the end if the other was continued later. The conversation goes on from the newest of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.conversation.session import Session
from clew.edit.relink import pinned
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


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge found: entries of both, of the first and of the other alone, and those that differ."""

    common: int = 0
    first: int = 0
    other: int = 0
    differing: tuple[str, ...] = ()  # uuids under which the two say different things; the first's counts
    files: int = 0  # that come from the other
    renamed: tuple[str, ...] = ()  # saved files whose names were taken


def merge(plan: Plan, other: Session) -> tuple[Plan, Merged]:
    """A plan with all that another session has besides. Raises Refused if they share nothing, or it has nothing more."""
    from clew.edit.plan import plan as begin

    mine, yours = plan.session, begin(other).session
    found = _compare(mine, yours)
    if not found.common:
        raise Refused([f"{plan.source.id[:8]} and {other.id[:8]} share no entry, so they are not the same session"])
    if not found.other:
        raise Refused([f"{other.id[:8]} has nothing that {plan.source.id[:8]} has not"])
    extra, agents, names = _files(plan, other)
    own = tuple(_moved(item, plan, other, names) for item in _own(mine, yours))
    items = renumber(_joined(mine, yours, own))
    newest = max((mine, yours), key=_ended)
    items = pinned(items, Session(items, file=mine.file), newest.leaf.uuid if newest.leaf else None)
    made = replace(
        plan.then(items, f"merge with {other.id}"),
        extra={**plan.extra, **extra},
        agents={**plan.agents, **agents},
    )
    renamed = tuple(f"{old} → {new}" for old, new in names.items())
    return made, replace(found, files=len(extra) + len(agents), renamed=renamed)


# -- the lines


def _compare(mine: Session, yours: Session) -> Merged:
    ours, theirs = ({e.uuid: e for e in s.entries if e.uuid} for s in (mine, yours))
    both = ours.keys() & theirs.keys()
    differing = tuple(u for u in ours if u in both and _key(ours[u]) != _key(theirs[u]))
    return Merged(len(both), len(ours) - len(both), len(theirs) - len(both), differing)


def _own(mine: Session, yours: Session) -> list[Item]:
    """What the other has alone: its entries, and the lines without uuid that are new or stand behind the first of those."""
    known = {e.uuid for e in mine.entries if e.uuid}
    lines = {_key(item) for item in mine.items if not (isinstance(item, Entry) and item.uuid)}
    found: list[Item] = []
    is_behind = False
    for item in yours.items:
        if isinstance(item, Entry) and item.uuid:
            if item.uuid not in known:
                found.append(item)
                is_behind = True
        elif is_behind or _key(item) not in lines:
            found.append(item)
    return found


def _joined(mine: Session, yours: Session, own: tuple[Item, ...]) -> list[Item]:
    items = list(mine.items)
    if _ended(yours) >= _ended(mine):
        return [*items, *own]
    known = {e.uuid for e in yours.entries if e.uuid}
    last = max(i for i, item in enumerate(items) if isinstance(item, Entry) and item.uuid in known)
    return [*items[: last + 1], *own, *items[last + 1 :]]


def _ended(session: Session) -> datetime:
    return (session.leaf.time if session.leaf else None) or session.ended or _EARLIEST


def _key(item: Item) -> Any:
    """What an item says, but for the session that it says it in."""
    if not isinstance(item, Entry):
        return item.raw.strip()
    return encode({name: value for name, value in item.data.items() if name not in _SESSION})


def _moved(item: Item, plan: Plan, other: Session, names: Mapping[str, str]) -> Item:
    """An entry of the other as if it had stood in the first: the paths and names of its files."""
    if not isinstance(item, Entry):
        return item
    changes: dict[str, Any] = {}
    result = item.data.get("toolUseResult")
    if isinstance(result, dict) and isinstance(path := result.get("persistedOutputPath"), str):
        place = _OUTPUT.fullmatch(path)  # as the other machine named it
        if place and place[1] == other.id:
            moved = _file(plan.source).folder / "tool-results" / place[2]
            changes["toolUseResult"] = {"persistedOutputPath": encode(str(moved))}
    if names and item.type == "file-history-snapshot":
        backups = FileHistorySnapshot.of(item).backups
        changed = {p: _renamed(names[b.name]) for p, b in backups.items() if b.name and b.name in names}
        changes |= {"snapshot": {"trackedFileBackups": changed}} if changed else {}
    elif names and item.type == "file-history-delta":
        backup = SnapshotDelta.of(item).backup
        changes |= {"backup": _renamed(names[backup.name])} if backup and backup.name and backup.name in names else {}
    return revise(item, changes) if changes else item


def _renamed(name: str) -> dict[str, bytes]:
    version = _VERSIONED.fullmatch(name)
    return {"backupFileName": encode(name), **({"version": encode(int(version[2]))} if version else {})}


# -- the files


def _files(plan: Plan, other: Session) -> tuple[dict[str, Path | Session], dict[str, Session], dict[str, str]]:
    """The other's files that come too, agents that both have, and new names for saved files whose names are taken."""
    mine, yours = _file(plan.source), _file(other)
    extra, agents = _agents(plan, other)
    taken = {path.name: path for path in mine.tool_results()}
    clashes = []
    for path in yours.tool_results():
        if path.name not in taken:
            extra[f"tool-results/{path.name}"] = path
        elif path.read_bytes() != taken[path.name].read_bytes():
            clashes.append(f"both have a tool-results/{path.name}, and they differ")
    if clashes:
        raise Refused(clashes)
    saved = {path.name: path for path in _history(mine)}
    names: dict[str, str] = {}
    theirs = {path.name: path for path in _history(yours)}
    for name, path in theirs.items():
        if name in saved and path.read_bytes() == saved[name].read_bytes():
            continue
        free = name if name not in saved else _free(name, {*saved, *theirs, *names.values()})
        names |= {name: free} if free != name else {}
        extra[f"file-history/{free}"] = path
    return extra, agents, names


def _agents(plan: Plan, other: Session) -> tuple[dict[str, Path | Session], dict[str, Session]]:
    """Agents of the other alone; one that both have is joined like the sessions themselves."""
    known = {a.id: plan.agents.get(a.id, a.session) for a in plan.source.agents if a.file}
    extra: dict[str, Path | Session] = {}
    agents: dict[str, Session] = {}
    inside = _file(other).folder / "subagents"
    for agent in other.agents:
        if agent.file is None:
            continue
        path = agent.file.path
        if agent.id in known:
            own = _own(known[agent.id], agent.session)
            if own:
                agents[agent.id] = Session(renumber((*known[agent.id].items, *own)), file=known[agent.id].file)
            continue
        below = path.relative_to(inside) if path.is_relative_to(inside) else Path(path.name)
        extra[f"subagents/{below.as_posix()}"] = agent.session
        meta = path.with_suffix(".meta.json")
        if meta.is_file():
            extra[f"subagents/{below.with_suffix('.meta.json').as_posix()}"] = meta
    return extra, agents


def _free(name: str, taken: set[str]) -> str:
    """The next version of a saved file that nobody has."""
    found = _VERSIONED.fullmatch(name)
    stem, number = (found[1], int(found[2])) if found else (name, 0)
    while f"{stem}@v{number}" in taken:
        number += 1
    return f"{stem}@v{number}"


def _history(file: SessionFile) -> list[Path]:
    folder = file.project_folder.parent.parent / "file-history" / file.id
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def _file(session: Session) -> SessionFile:
    if isinstance(session.file, SessionFile):
        return session.file
    if session.path is None:
        raise Refused(["a session that lies in no file cannot be merged"])
    return session_at(session.path)
