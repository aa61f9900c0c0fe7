"""Show the last turns of a resumed session without reading the whole file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from clew.conversation.session import Session
from clew.system import shell_quoting
from clew.system.plural import plural
from clew.view.row_types import AboutRow, NoteRow, Row
from clew.view.rows import TURN_TOOK, ViewOptions, rows

TAIL_BYTES = 512 << 10  # bytes at the end of the file that are read first
MAX_TURNS = 20
VIEW_OPTIONS = ViewOptions(agents=False)


def read_recent_rows(path: Path, turns: int = MAX_TURNS) -> Iterator[Row]:
    """Yield the rows of the last turns of a file, preceded by a note about what is not shown."""
    size = os.path.getsize(path)
    session, is_whole = _read_tail(path, size, TAIL_BYTES)
    if not is_whole and not session.turns:  # one turn of megabytes
        session, is_whole = _read_tail(path, size, size)
    all_turns = session.turns
    shown = all_turns[-turns:]
    if not is_whole:
        yield AboutRow(
            f"Earlier turns are not shown. Read them with: {shell_quoting.session_command('show', path.stem)}"
        )
    elif len(all_turns) > len(shown):
        more = len(all_turns) - len(shown)
        hidden = plural(more, "earlier turn is", "earlier turns are")
        yield AboutRow(f"{hidden} not shown. Read: {shell_quoting.session_command('show', path.stem)}")
    for row in rows(session, shown, VIEW_OPTIONS):
        is_end = isinstance(row, NoteRow) and row.text.startswith(TURN_TOOK)
        yield AboutRow(f"Took {row.text[len(TURN_TOOK) :]}") if is_end else row  # as the console shows it


def _read_tail(path: Path, size: int, length: int) -> tuple[Session, bool]:
    """Return the session in the last bytes of a file, and whether that is the whole file."""
    with open(path, "rb") as file:
        file.seek(max(0, size - length))
        data = file.read()
    if size <= length:
        return Session(data), True
    return Session(data[data.find(b"\n") + 1 :]), False
