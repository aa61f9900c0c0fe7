"""Copy a session under a new id, as Claude Code forks it. The uuids of its lines stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.chat.store.journal_lines import pin
from clew.conversation.load import read
from clew.conversation.locate import locate_entry
from clew.conversation.session import Session
from clew.errors import ClewError
from clew.wire.entry import Entry
from clew.wire.entry_edit import with_parent
from clew.wire.json_codec import encode
from clew.wire.layout import SessionFile, Tree
from clew.wire.rename_ids import IdMapping, rename_references
from clew.wire.session_writer import create, create_exactly


def fork(file: SessionFile, session_id: str, tree: Tree, at: str = "", folder: Path | None = None) -> Path:
    """Copy a session, or its part up to a position, and return the path of the copy. It is created next to the
    original, or in `folder`.
    """
    session = read(file.path)
    end = locate_entry(session, at) if at else None
    entries = tuple(_up_to(session, end)) if end else session.entries
    names = IdMapping(session_id, (), file.id)
    lines = [rename_references(entry, names).json for entry in entries]
    if end and Session(entries).leaf != end:
        lines.append(encode(pin(end.uuid, session_id)))
    for saved in tree.file_history(file.id):
        create_exactly(tree.root / "file-history" / session_id / saved.name, (saved.read_bytes(),), sync=False)
    return create((folder or file.path.parent) / f"{session_id}.jsonl", lines)


def require_only_turn(file: SessionFile, at: str, prompt: str) -> None:
    """Raise Refused unless all that follows a position belongs to the turn of this prompt."""
    session = read(file.path)
    kept = {entry.uuid for entry in session.path_to(locate_entry(session, at))}
    turns = [turn for turn in session.turns if turn.prompt.uuid not in kept]
    if [turn.prompt.uuid for turn in turns] != [prompt]:
        raise ClewError(f"Resume rejected by --resume-drops-turn: what follows {at} is not the turn of {prompt} alone.")


def _up_to(session: Session, end: Entry) -> Iterator[Entry]:
    """Yield the entries on the path to `end`. An entry whose parent is left out becomes a child of the nearest
    remaining ancestor.
    """
    # Lines without uuid (titles, snapshots) are copied up to the end; a last-prompt line is not, because it would
    # pin the copy to a line that it lacks.
    offsets = {e.uuid: e.offset for e in session.path_to(end) if e.uuid}
    last = max(offsets.values())
    for entry in session.entries:
        if entry.uuid is None:
            if entry.type != "last-prompt" and entry.offset < last:
                yield entry
        elif entry.uuid in offsets:
            if entry.parent in session.graph.nodes and entry.parent not in offsets:
                above = session.links.parent(entry)
                entry = with_parent(entry, above.uuid if above else None)
            yield entry
