"""Index long tool outputs, which are stored in files next to the transcript.

A long output is divided every 64 KB, moved to the next end of a line, so that a piece can be read again by its number.
`part` of such a piece contains the number of the result in its line and the number of the piece.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from stringzilla import find

from clew.index.index_schema import LONG_OUTPUT
from clew.wire.overflow_files import (
    FOLDER,
    Overflow,
    OverflowFolder,
    open_without_links,
)

if TYPE_CHECKING:
    from clew.wire.entry import BaseEntry

PIECE_SIZE = 64 << 10
READ_SIZE = 1 << 18  # bytes that are searched at once
_LINE_WINDOW = 4096  # bytes in which the end of a line is searched
_RESULT_SHIFT = LONG_OUTPUT.bit_length() - 1


def session_folder(path: str, session_id: str) -> Path | None:
    """Return the folder of side files of a transcript; for an agent's transcript that of its session."""
    file = Path(path)
    if not file.name.startswith("agent-"):
        return file.with_suffix("")
    for parent in file.parents:
        if parent.name == "subagents":
            return parent.parent if parent.parent.name == session_id else parent.parent / session_id
        if parent.name == "projects":
            break
    return file.parent / session_id


class LongOutputs:
    """The long outputs of one transcript."""

    def __init__(self, path: str, session_id: str) -> None:
        self.folder = session_folder(path, session_id) if _is_file_name(session_id) else None
        self._files = OverflowFolder(self.folder)
        self.names = self._files.names

    def find(self, call_id: str, text: str) -> Overflow | None:
        overflow = self._files.find(call_id, text)
        return None if overflow is None or overflow.is_binary else overflow

    def contain(self, needles: tuple[bytes, ...], is_folded: bool) -> bool:
        """Return whether the bytes of an output, in lower case if `is_folded`, contain one of the needles."""
        overlap = max(map(len, needles))
        for name in self.names:
            try:
                with open_without_links(os.path.join(str(self.folder), FOLDER, name)) as file:
                    end = b""
                    while data := file.read(READ_SIZE):
                        text = end + data.lower() if is_folded else end + data
                        if any(find(text, needle) >= 0 for needle in needles):
                            return True
                        end = text[-overlap:]
            except (OSError, ValueError):
                continue
        return False

    def pieces(self, entry: BaseEntry) -> Iterator[tuple[int, int, str]]:
        """Yield (position among the results with text, part, text) for each piece of an entry's long outputs."""
        if (
            not self.names
            or entry.type != "user"
            or entry.message is None
            or not isinstance(entry.message.content, list)
        ):
            return
        number = position = -1
        for block in entry.message.content:
            if block.type == "tool_result":
                number += 1
                text = block.content if isinstance(block.content, str) else block.result_text
                position += bool(text)
                if text and (overflow := self.find(block.tool_use_id or "", text)):
                    for piece, piece_text in enumerate(_read_pieces(overflow)):
                        yield position, (number + 1 << _RESULT_SHIFT) + piece, piece_text


def _is_file_name(session_id: str) -> bool:
    return bool(session_id) and not any(c in session_id for c in "/\\\0") and session_id not in (".", "..")


def _read_pieces(overflow: Overflow) -> Iterator[str]:
    try:
        with open_without_links(overflow.path) as file:
            for number in range(-(-overflow.size // PIECE_SIZE)):
                yield _read_piece(file, number)
    except OSError:
        return


def _read_piece(file: BinaryIO, number: int) -> str:
    start, stop = _line_start(file, number * PIECE_SIZE), _line_start(file, (number + 1) * PIECE_SIZE)
    file.seek(start)
    return file.read(max(0, stop - start)).decode("utf-8", "replace")


def _line_start(file: BinaryIO, position: int) -> int:
    """Return the start of the first line at or after a position, if it is near; else the position itself."""
    if position == 0:
        return 0
    file.seek(position - 1)
    newline = file.read(_LINE_WINDOW).find(b"\n")
    return position + max(0, newline)


def piece_text(path: str, entry: dict[str, Any], part: int) -> str:
    """Read the text of a piece again; "" if its file is gone."""
    number, piece = (part >> _RESULT_SHIFT) - 1, part & (LONG_OUTPUT - 1)
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

    session_id = entry.get("sessionId")
    session = os.path.basename(path)[:-6] if not os.path.basename(path).startswith("agent-") else session_id
    outputs = LongOutputs(path, session if isinstance(session, str) else "")
    call_id = results[number].get("tool_use_id")
    overflow = outputs.find(call_id if isinstance(call_id, str) else "", result_text(results[number].get("content")))
    if overflow is None:
        return ""
    try:
        with open_without_links(overflow.path) as file:
            return _read_piece(file, piece)
    except OSError:
        return ""
