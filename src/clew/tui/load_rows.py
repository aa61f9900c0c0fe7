"""Loading: the rows of a session, made in a thread and handed over in batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from textual.message import Message

from clew.conversation.branches import Branch
from clew.conversation.session import Session
from clew.tui.session_item import SessionItem
from clew.view.mask_rows import mask_rows
from clew.view.progressive import progressive_rows
from clew.view.rows import Row, ViewOptions, preamble_rows, rows
from clew.wire.line import MAX_LINE

FIRST = 80  # rows in the first batch: more than a screen
LATER = 0.15  # seconds between two batches
WINDOW = 96 << 10  # bytes of a file that a preview reads on each side of a place
PREVIEW = 120  # rows of a preview


class Loaded(Message):
    """Some rows. `is_done` with the last of them; `reason` if they could not be read."""

    def __init__(self, number: int, made: list[Row], is_done: bool, reason: str = "") -> None:
        super().__init__()
        self.number, self.rows, self.is_done, self.reason = number, made, is_done, reason


class Load:
    """One pass over a session. Once cancelled it says no more."""

    def __init__(self, number: int, made: Callable[[], Iterable[Row]], post: Callable[[Message], object]) -> None:
        self._number, self._made, self._post = number, made, post
        self._is_cancelled = False
        threading.Thread(target=self._run, daemon=True, name="clew-load").start()

    def cancel(self) -> None:
        self._is_cancelled = True

    def _tell(self, made: list[Row], is_done: bool, reason: str = "") -> None:
        if not self._is_cancelled:
            self._post(Loaded(self._number, made, is_done, reason))

    def _run(self) -> None:
        batch: list[Row] = []
        is_first, last = True, time.monotonic()
        try:
            for row in self._made():
                batch.append(row)
                if self._is_cancelled:
                    return
                if (is_first and len(batch) >= FIRST) or time.monotonic() - last >= LATER:
                    self._tell(batch, False)
                    batch, is_first, last = [], False, time.monotonic()
        except OSError as error:
            self._tell(batch, True, f"{error.filename or 'The file'}: {error.strerror}")
            return
        self._tell(batch, True)


def session_rows(session: Session, options: ViewOptions, branch: Branch | None, reveal: bool) -> Iterator[Row]:
    """What the reader shows of a session, or of another branch of it."""
    if branch is None or branch.is_active:
        made = progressive_rows(session, options)
    else:
        made = rows(session, session.turns_of(branch), options)
    return made if reveal else mask_rows(made)


def preview_rows(hit: SessionItem, reveal: bool) -> Iterator[Row]:
    """The conversation around the best passage of a hit, or its beginning; a large file is not read for it."""
    if not hit.path:  # its transcript is gone
        left = iter([Row("prompt", hit.prompts)] if hit.prompts else [])
        return left if reveal else mask_rows(left)
    best = hit.passages[0] if hit.passages and hit.passages[0].offset >= 0 else None
    session = Session(_window(Path(best.path), best.offset) if best else _window(Path(hit.path), 0))
    options = ViewOptions(depth="calls" if best else "replies", lines=6, agents=False, thinking=bool(best))

    def made() -> Iterator[Row]:
        yield from preamble_rows(session, options)
        yield from rows(session, session.turns, options)

    limit = None if best else PREVIEW
    found = islice(made(), limit)
    return found if reveal else mask_rows(found)


def _window(path: Path, offset: int) -> bytes:
    """Whole lines of a file around a place."""
    start = max(0, offset - WINDOW)
    with open(path, "rb") as file:
        file.seek(start)
        data = file.read(offset - start + WINDOW)
        if data.rfind(b"\n", offset - start) < 0:
            data += file.readline(MAX_LINE)
    first = data.find(b"\n") + 1 if start else 0
    return data[first : data.rfind(b"\n") + 1] or data[first:]
