"""The scrollback of a session that is gone on with: its newest turns, without reading all that came before them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from clew.conversation.session import Session
from clew.system import shell_quoting
from clew.system.plural import plural
from clew.view.row_types import AboutRow, Row
from clew.view.rows import ViewOptions, rows

REACH = 512 << 10  # bytes from the end of the file that are looked at first
TURNS = 20
SHOWN = ViewOptions(agents=False)


def newest(path: Path, turns: int = TURNS) -> Iterator[Row]:
    """The rows of the last turns of a file, and before them how much is not shown."""
    size = os.path.getsize(path)
    session, is_whole = _end(path, size, REACH)
    if not is_whole and not session.turns:  # one turn of megabytes
        session, is_whole = _end(path, size, size)
    found = session.turns
    shown = found[-turns:]
    if not is_whole:
        yield AboutRow(
            f"Earlier turns are not shown. Read them with: {shell_quoting.session_command('show', path.stem)}"
        )
    elif len(found) > len(shown):
        more = len(found) - len(shown)
        hidden = plural(more, "earlier turn is", "earlier turns are")
        yield AboutRow(f"{hidden} not shown. Read: {shell_quoting.session_command('show', path.stem)}")
    yield from rows(session, shown, SHOWN)


def _end(path: Path, size: int, reach: int) -> tuple[Session, bool]:
    with open(path, "rb") as file:
        file.seek(max(0, size - reach))
        data = file.read()
    if size <= reach:
        return Session(data), True
    return Session(data[data.find(b"\n") + 1 :]), False
