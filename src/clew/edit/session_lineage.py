"""Find the sessions that a session was made from, those made from it, and those that share entries.

A session that clew made says so in its last line, and the journal records it. One that `/branch` made says so in its
entries. A copy made by `--fork-session` is recognised by the uuids that it shares.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.conversation.session import Session
from clew.edit.undo_journal import UndoRecord
from clew.errors import READ_ERRORS
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import as_text, decode
from clew.wire.layout import SessionFile
from clew.wire.line import pieces

CLEW, BRANCH = "clew", "branch"
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,64})"')
_MERGED = re.compile(r"merge with ([^\s;]+)")
_FORKED = b'"forkedFrom"'
_PIECE = 1 << 20


class LineageLink(Struct, frozen=True):
    """A session made from another: by clew, with the steps, or by /branch."""

    parent: str
    child: str
    how: str
    detail: str = ""


class Shared(Struct, frozen=True):
    """A session without a recorded origin that shares entries with the queried one."""

    id: str
    path: Path
    common: int
    own: int  # entries that only this session has


class Lineage(Struct, frozen=True):
    """The links to and from a session, and the sessions that share entries with it without a link."""

    id: str
    links: tuple[LineageLink, ...]
    shared: tuple[Shared, ...]

    @property
    def roots(self) -> tuple[str, ...]:
        """The oldest known ancestors of the session."""
        children = {link.child for link in self.links}
        oldest = {link.parent for link in self.links} - children
        return tuple(sorted(oldest)) or (self.id,)

    def links_from(self, id: str) -> tuple[LineageLink, ...]:
        return tuple(link for link in self.links if link.parent == id)


def find_lineage(session: Session, files: Iterable[SessionFile], records: Sequence[UndoRecord] = ()) -> Lineage:
    """Return the relatives of a session among these files; each file is read once."""
    uuids = {e.uuid for e in session.entries if e.uuid}
    links = {
        (r.source, r.made): LineageLink(r.source, r.made, CLEW, r.what) for r in records if r.made and r.state == "done"
    }
    shared: list[Shared] = []
    for file in files:
        if file.is_empty:
            continue
        try:
            scanned = _scan_file(file.path)
        except READ_ERRORS:
            continue  # skip an unreadable file
        links.update({(link.parent, file.id): link for link in scanned.links(file.id)})
        common = len(scanned.uuids & uuids)
        if common and file.path != session.path:
            shared.append(Shared(file.id, file.path, common, len(scanned.uuids) - common))
    related = _related_links(session.id, links.values())
    linked = {link.child for link in related} | {link.parent for link in related}
    unmarked = tuple(s for s in shared if s.id not in linked or s.id == session.id)
    return Lineage(session.id, related, tuple(sorted(unmarked, key=lambda s: (-s.common, s.id))))


def _related_links(id: str, links: Collection[LineageLink]) -> tuple[LineageLink, ...]:
    """Return the links that lead up from a session, and all links down from its ancestors."""
    up = _reachable(id, [(link.child, link.parent) for link in links])
    down = {descendant for top in up for descendant in _reachable(top, [(link.parent, link.child) for link in links])}
    return tuple(sorted((x for x in links if x.parent in down), key=lambda link: (link.parent, link.child)))


def _reachable(start: str, edges: Sequence[tuple[str, str]]) -> set[str]:
    reached, pending = {start}, [start]
    while pending:
        node = pending.pop()
        for origin, target in edges:
            if origin == node and target not in reached:
                reached.add(target)
                pending.append(target)
    return reached


class _Scanned(Struct, frozen=True):
    uuids: frozenset[str]
    origins: tuple[dict[str, Any], ...]
    forks: frozenset[str]

    def links(self, id: str) -> Iterator[LineageLink]:
        origins = [origin for origin in self.origins if origin.get("sessionId") == id]
        for origin in origins[-1:]:  # a copy of a copy contains the lines of both
            steps = origin.get("steps")
            detail = "; ".join(map(as_text, steps)) if isinstance(steps, list) else ""
            for source in (origin.get("source"), *_MERGED.findall(detail)):
                if isinstance(source, str) and source != id:
                    yield LineageLink(source, id, CLEW, detail or "clone")
        for source in self.forks - {id} if not origins else ():
            yield LineageLink(source, id, BRANCH, "/branch")


def _scan_file(path: Path) -> _Scanned:
    uuids: set[str] = set()
    origins: list[dict[str, Any]] = []
    forks: set[str] = set()
    for buffer, _ in pieces(path, size=_PIECE):
        uuids.update(uuid.decode("utf-8", "replace") for uuid in _UUID.findall(buffer))
        if ORIGIN_TYPE.encode() in buffer or _FORKED in buffer:
            for line in buffer.split(b"\n"):
                if ORIGIN_TYPE.encode() in line or _FORKED in line:
                    _scan_line(line, origins, forks)
    return _Scanned(frozenset(uuids), tuple(origins), frozenset(forks))


def _scan_line(line: bytes, origins: list[dict[str, Any]], forks: set[str]) -> None:
    try:
        data = decode(line.strip())
    except ValueError:
        return
    if not isinstance(data, dict):
        return
    if data.get("type") == ORIGIN_TYPE:
        origins.append(data)
    forked = data.get("forkedFrom")
    if isinstance(forked, dict) and isinstance(source := forked.get("sessionId"), str):
        forks.add(source)
