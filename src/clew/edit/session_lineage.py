"""Lineage: what a session was made of, what was made of it, and which others hold the same entries.

A session that clew made says so in its last line, and the journal knows it. One that `/branch` made says so in its entries.
A copy made by `--fork-session` says nothing: it is known by the uuids that it shares.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class LineageLink:
    """One session made of another: by clew, with the steps, or by /branch."""

    parent: str
    child: str
    how: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Shared:
    """A session that says nothing of where it is from, and holds entries of the one asked for."""

    id: str
    path: Path
    common: int
    own: int  # entries that the one asked for has not


@dataclass(frozen=True, slots=True)
class Lineage:
    """The links that lead to and from a session, and the sessions that share entries with it unmarked."""

    id: str
    links: tuple[LineageLink, ...]
    shared: tuple[Shared, ...]

    @property
    def roots(self) -> tuple[str, ...]:
        """The oldest sessions known, from which the one asked for comes."""
        made = {link.child for link in self.links}
        found = {link.parent for link in self.links} - made
        return tuple(sorted(found)) or (self.id,)

    def made_of(self, id: str) -> tuple[LineageLink, ...]:
        return tuple(link for link in self.links if link.parent == id)


def lineage(session: Session, files: Iterable[SessionFile], records: Sequence[UndoRecord] = ()) -> Lineage:
    """The kin of a session among these files; each is read once."""
    mine = {e.uuid for e in session.entries if e.uuid}
    links = {
        (r.source, r.made): LineageLink(r.source, r.made, CLEW, r.what) for r in records if r.made and r.state == "done"
    }
    shared: list[Shared] = []
    for file in files:
        if file.is_empty:
            continue
        try:
            found = _scan(file.path)
        except READ_ERRORS:
            continue  # one file that cannot be read does not hide the others
        links.update({(link.parent, file.id): link for link in found.links(file.id)})
        common = len(found.uuids & mine)
        if common and file.path != session.path:
            shared.append(Shared(file.id, file.path, common, len(found.uuids) - common))
    kin = _kin(session.id, links.values())
    told = {link.child for link in kin} | {link.parent for link in kin}
    unmarked = tuple(s for s in shared if s.id not in told or s.id == session.id)
    return Lineage(session.id, kin, tuple(sorted(unmarked, key=lambda s: (-s.common, s.id))))


def _kin(id: str, links: Collection[LineageLink]) -> tuple[LineageLink, ...]:
    """The links that lead up from a session, and all that lead down from there."""
    up = _reached(id, [(link.child, link.parent) for link in links])
    down = {found for top in up for found in _reached(top, [(link.parent, link.child) for link in links])}
    return tuple(sorted((x for x in links if x.parent in down), key=lambda link: (link.parent, link.child)))


def _reached(start: str, ways: Sequence[tuple[str, str]]) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for origin, target in ways:
            if origin == here and target not in found:
                found.add(target)
                waiting.append(target)
    return found


@dataclass(frozen=True, slots=True)
class _Scanned:
    uuids: frozenset[str]
    origins: tuple[dict[str, Any], ...]
    forks: frozenset[str]

    def links(self, id: str) -> Iterator[LineageLink]:
        origins = [origin for origin in self.origins if origin.get("sessionId") == id]
        for origin in origins[-1:]:  # a copy of a copy holds the lines of both
            steps = origin.get("steps")
            told = "; ".join(map(as_text, steps)) if isinstance(steps, list) else ""
            for source in (origin.get("source"), *_MERGED.findall(told)):
                if isinstance(source, str) and source != id:
                    yield LineageLink(source, id, CLEW, told or "clone")
        for source in self.forks - {id} if not origins else ():
            yield LineageLink(source, id, BRANCH, "/branch")


def _scan(path: Path) -> _Scanned:
    uuids: set[str] = set()
    origins: list[dict[str, Any]] = []
    forks: set[str] = set()
    for buffer, _ in pieces(path, size=_PIECE):
        uuids.update(found.decode("utf-8", "replace") for found in _UUID.findall(buffer))
        if ORIGIN_TYPE.encode() in buffer or _FORKED in buffer:
            for line in buffer.split(b"\n"):
                if ORIGIN_TYPE.encode() in line or _FORKED in line:
                    _read(line, origins, forks)
    return _Scanned(frozenset(uuids), tuple(origins), frozenset(forks))


def _read(line: bytes, origins: list[dict[str, Any]], forks: set[str]) -> None:
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
