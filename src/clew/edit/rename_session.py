"""Set a title or a tag by appending the line that Claude Code appends. The only edit in place."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from clew.conversation.session import Session
from clew.edit.undo_journal import UndoJournal, newest_line
from clew.errors import Refused
from clew.wire.session_writer import append


class TitleLine(Struct, frozen=True):
    """A line that was, or would be, appended; the line that it replaces, and the number that undoes it."""

    line: dict[str, Any]
    former: dict[str, Any]
    number: str = ""


def retitle(session: Session, title: str, *, dry_run: bool = False) -> TitleLine:
    """Set the title of a session."""
    if not title.strip():
        raise Refused(["the title is empty"])
    return _append_line(session, "custom-title", "customTitle", title.strip(), dry_run)


def tag(session: Session, word: str, *, dry_run: bool = False) -> TitleLine:
    """Set the tag of a session; an empty one removes it."""
    return _append_line(session, "tag", "tag", word.strip(), dry_run)


def _append_line(session: Session, kind: str, field: str, value: str, dry_run: bool) -> TitleLine:
    if "\n" in value or "\r" in value:
        raise Refused([f"a {field} is one line"])
    if session.path is None:
        raise Refused(["a session that is not in a file cannot be renamed"])
    line = {"type": kind, field: value, "sessionId": session.id}
    former = newest_line(session, kind) or {**line, field: ""}
    if dry_run or former == line:
        return TitleLine(line, former)
    what = f"{'retitle' if kind == 'custom-title' else 'tag'} {value}".strip()
    number = UndoJournal().note(what, session.id, session.path, line, former)
    append(session.path, [line])
    return TitleLine(line, former, number)
