"""Load the rows of a session in a thread, and post them in batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from textual.message import Message

from clew.browse.session_item import SessionItem
from clew.conversation.branches import Branch
from clew.conversation.session import Session
from clew.view.mask_rows import mask_rows
from clew.view.progressive import progressive_rows
from clew.view.row_types import PromptRow, Row
from clew.view.rows import ViewOptions, preamble_rows, rows
from clew.wire.line import MAX_LINE

FIRST = 80  # rows in the first batch: more than fit a screen
LATER = 0.15  # seconds between two batches
WINDOW = 96 << 10  # bytes that a preview reads on each side of an offset
PREVIEW = 120  # rows of a preview


class Loaded(Message):
    """A batch of rows. `is_done` marks the last one; `reason` says why reading failed."""

    def __init__(self, number: int, rows: list[Row], is_done: bool, reason: str = "") -> None:
        super().__init__()
        self.number, self.rows, self.is_done, self.reason = number, rows, is_done, reason


class Load:
    """One pass over a session, in a thread. A cancelled load posts nothing more."""

    def __init__(self, number: int, make_rows: Callable[[], Iterable[Row]], post: Callable[[Message], object]) -> None:
        self._number, self._make_rows, self._post = number, make_rows, post
        self._is_cancelled = False
        threading.Thread(target=self._run, daemon=True, name="clew-load").start()

    def cancel(self) -> None:
        self._is_cancelled = True

    def _send(self, rows: list[Row], is_done: bool, reason: str = "") -> None:
        if not self._is_cancelled:
            self._post(Loaded(self._number, rows, is_done, reason))

    def _run(self) -> None:
        batch: list[Row] = []
        is_first, last = True, time.monotonic()
        try:
            for row in self._make_rows():
                batch.append(row)
                if self._is_cancelled:
                    return
                if (is_first and len(batch) >= FIRST) or time.monotonic() - last >= LATER:
                    self._send(batch, False)
                    batch, is_first, last = [], False, time.monotonic()
        except OSError as error:
            self._send(batch, True, f"{error.filename or 'The file'}: {error.strerror}")
            return
        self._send(batch, True)


def session_rows(session: Session, options: ViewOptions, branch: Branch | None, reveal: bool) -> Iterator[Row]:
    """Return the rows that the reader shows of a session, or of one of its branches."""
    if branch is None or branch.is_active:
        shown = progressive_rows(session, options)
    else:
        shown = rows(session, session.turns_of(branch), options)
    return shown if reveal else mask_rows(shown)


def preview_rows(hit: SessionItem, reveal: bool) -> Iterator[Row]:
    """Return the rows around the best passage of a session, or its first rows. Only a part of the file is read."""
    if not hit.path:  # the transcript is gone
        prompts = iter([PromptRow(hit.prompts)] if hit.prompts else [])
        return prompts if reveal else mask_rows(prompts)
    best = hit.passages[0] if hit.passages and hit.passages[0].offset >= 0 else None
    session = Session(_window(Path(best.path), best.offset) if best else _window(Path(hit.path), 0))
    options = ViewOptions(depth="calls" if best else "replies", lines=6, agents=False, thinking=bool(best))

    def preview() -> Iterator[Row]:
        yield from preamble_rows(session, options)
        yield from rows(session, session.turns, options)

    limit = None if best else PREVIEW
    shown = islice(preview(), limit)
    return shown if reveal else mask_rows(shown)


def _window(path: Path, offset: int) -> bytes:
    """Read the complete lines of a file around a byte offset."""
    start = max(0, offset - WINDOW)
    with open(path, "rb") as file:
        file.seek(start)
        data = file.read(offset - start + WINDOW)
        if data.rfind(b"\n", offset - start) < 0:
            data += file.readline(MAX_LINE)
    first = data.find(b"\n") + 1 if start else 0
    return data[first : data.rfind(b"\n") + 1] or data[first:]
