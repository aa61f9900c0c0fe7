"""Forks: a copy of a session under a new id, as the program makes it: the uuids stay, the session is another."""

from __future__ import annotations

from pathlib import Path

from clew.conversation.open import read
from clew.conversation.session import Session
from clew.conversation.spot import spot
from clew.wire.entry import Entry
from clew.wire.place import SessionFile, Tree
from clew.wire.reference import Names, renamed
from clew.wire.write import create, place


def fork(file: SessionFile, session_id: str, tree: Tree, at: str = "", folder: Path | None = None) -> Path:
    """The file of the copy: all of it, or up to a place. It lies beside the original, or elsewhere."""
    session = read(file.path)
    kept = _up_to(session, at) if at else None
    names = Names(session_id, (), file.id)
    lines = [renamed(entry, names) for entry in session.entries if kept is None or _is_kept(entry, kept)]
    for saved in tree.file_history(file.id):
        place(tree.root / "file-history" / session_id / saved.name, (saved.read_bytes(),), sync=False)
    return create((folder or file.path.parent) / f"{session_id}.jsonl", lines)


def _is_kept(entry: Entry, kept: dict[str, int]) -> bool:
    if entry.uuid:
        return entry.uuid in kept
    return entry.type != "last-prompt" and entry.offset < max(kept.values())


def _up_to(session: Session, at: str) -> dict[str, int]:
    """The entries up to a place, with where they stand."""
    return {e.uuid: e.offset for e in session.path_to(spot(session, at)) if e.uuid}
