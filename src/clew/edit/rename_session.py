"""Names: a title or a tag for a session, by adding the line that Claude Code itself adds. The only change in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.conversation.session import Session
from clew.edit.undo_journal import UndoJournal, newest
from clew.errors import Refused
from clew.wire.session_writer import append


@dataclass(frozen=True, slots=True)
class TitleLine:
    """A line that was, or would be, added: which, what stood there before, and the number that takes it back."""

    line: dict[str, Any]
    former: dict[str, Any]
    number: str = ""


def retitle(session: Session, title: str, *, dry_run: bool = False) -> TitleLine:
    """Give a session a title."""
    if not title.strip():
        raise Refused(["a title without words is none"])
    return _add(session, "custom-title", "customTitle", title.strip(), dry_run)


def tag(session: Session, word: str, *, dry_run: bool = False) -> TitleLine:
    """Give a session a tag; an empty one takes it away."""
    return _add(session, "tag", "tag", word.strip(), dry_run)


def _add(session: Session, kind: str, field: str, value: str, dry_run: bool) -> TitleLine:
    if "\n" in value or "\r" in value:
        raise Refused([f"a {field} is one line"])
    if session.path is None:
        raise Refused(["a session that lies in no file cannot be named"])
    line = {"type": kind, field: value, "sessionId": session.id}
    former = newest(session, kind) or {**line, field: ""}
    if dry_run or former == line:
        return TitleLine(line, former)
    what = f"{'retitle' if kind == 'custom-title' else 'tag'} {value}".strip()
    number = UndoJournal().note(what, session.id, session.path, line, former)
    append(session.path, [line])
    return TitleLine(line, former, number)
