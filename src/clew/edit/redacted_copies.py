"""Write redacted copies of sessions into a temporary tree, to be packed from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from clew.conversation.load import read
from clew.edit.plan import plan
from clew.edit.redact_session import redact
from clew.edit.redactor import make_redactor
from clew.edit.undo_journal import UndoJournal
from clew.edit.write_plan import write_plan
from clew.wire.layout import SessionFile, session_at
from clew.wire.session_parts import SessionParts, collect_parts


def redacted_parts(files: Iterable[SessionFile], folder: Path) -> Iterator[SessionParts]:
    """Yield the files of a redacted copy of each session. The copies have new ids and are written below `folder`."""
    redactor = make_redactor(True, ())
    for file in files:
        plan_of_copy, _ = redact(plan(read(file.path)), redactor)
        target = folder / "projects" / file.project_folder.name
        written = write_plan(plan_of_copy, folder=target, journal=UndoJournal(folder / "journal"))
        yield collect_parts(session_at(written.path))
