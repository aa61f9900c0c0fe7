"""Long outputs in the index: pieces of the result whose placeholder stands in the transcript.

A long output is divided into a grid of 64 KB, moved to the next end of a line, so that a piece can be read again by its
number. `part` of such a piece holds the number of the result in its line and the number in the grid.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from clew.index.snippet import LONG_OUTPUT
from clew.wire.overflow_files import Overflow, find_overflow, list_overflows, open_without_links

if TYPE_CHECKING:
    from clew.wire.entry import BaseEntry

SIZE = 64 << 10
_EDGE = 4096  # bytes in which the end of a line is looked for
_SHIFT = LONG_OUTPUT.bit_length() - 1


def session_folder(path: str, session_id: str) -> Path | None:
    """The folder of side files for a transcript: beside a session's own file, or where an agent's session has it."""
    file = Path(path)
    if not file.name.startswith("agent-"):
        return file.with_suffix("")
    for above in file.parents:
        if above.name == "subagents":
            return above.parent if above.parent.name == session_id else above.parent / session_id
        if above.name == "projects":
            break
    return file.parent / session_id


class LongOutputs:
    """The long outputs of one transcript."""

    def __init__(self, path: str, session_id: str) -> None:
        self.folder = session_folder(path, session_id) if _is_name(session_id) else None
        self.names = list_overflows(self.folder)

    def of(self, call_id: str, text: str) -> Overflow | None:
        if not self.names or self.folder is None:
            return None
        found = find_overflow(self.folder, self.names, call_id, text)
        return None if found is None or found.is_binary else found

    def pieces(self, entry: BaseEntry) -> Iterator[tuple[int, int, str]]:
        """(place among the results with text, part, text) for each piece of the long outputs that an entry stands for."""
        if (
            not self.names
            or entry.type != "user"
            or entry.message is None
            or not isinstance(entry.message.content, list)
        ):
            return
        results = [block for block in entry.message.content if block.type == "tool_result"]
        spoken = [number for number, block in enumerate(results) if block.result_text]
        for place, number in enumerate(spoken):
            if found := self.of(results[number].tool_use_id or "", results[number].result_text):
                for piece, text in enumerate(_texts(found)):
                    yield place, (number + 1 << _SHIFT) + piece, text


def _is_name(session_id: str) -> bool:
    return bool(session_id) and not any(c in session_id for c in "/\\\0") and session_id not in (".", "..")


def _texts(found: Overflow) -> Iterator[str]:
    try:
        with open_without_links(found.path) as file:
            for number in range(-(-found.size // SIZE)):
                yield _piece(file, number)
    except OSError:
        return


def _piece(file: BinaryIO, number: int) -> str:
    start, stop = _edge(file, number * SIZE), _edge(file, (number + 1) * SIZE)
    file.seek(start)
    return file.read(max(0, stop - start)).decode("utf-8", "replace")


def _edge(file: BinaryIO, at: int) -> int:
    """The beginning of the first line at or after a place, if it is near; else the place itself."""
    if at == 0:
        return 0
    file.seek(at - 1)
    found = file.read(_EDGE).find(b"\n")
    return at + max(0, found)


def piece_text(path: str, entry: dict[str, Any], part: int) -> str:
    """The text of a piece again; "" if the file is gone."""
    number, piece = (part >> _SHIFT) - 1, part & (LONG_OUTPUT - 1)
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    results = (
        [b for b in content if isinstance(b, dict) and b.get("type") == "tool_result"]
        if isinstance(content, list)
        else []
    )
    if number >= len(results):
        return ""
    from clew.wire.content_block import result_text

    owner = entry.get("sessionId")
    session = os.path.basename(path)[:-6] if not os.path.basename(path).startswith("agent-") else owner
    outputs = LongOutputs(path, session if isinstance(session, str) else "")
    called = results[number].get("tool_use_id")
    found = outputs.of(called if isinstance(called, str) else "", result_text(results[number].get("content")))
    if found is None:
        return ""
    try:
        with open_without_links(found.path) as file:
            return _piece(file, piece)
    except OSError:
        return ""
