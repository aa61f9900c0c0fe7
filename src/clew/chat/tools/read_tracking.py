"""What the model has seen: a file is changed only as it was last read or written."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from clew.chat.tools.atomic_files import Content, content
from clew.chat.tools.tool import ToolFailed, ToolState


def require(path: Path, found: Content, state: ToolState) -> None:
    """`Failed` if the model has not read the file, or not as it is now."""
    known = state.seen.get(Path(os.path.realpath(path)))
    if known is None:
        raise ToolFailed("File has not been read yet. Read it first before writing to it.")
    if known.digest != found.seen.digest:
        raise ToolFailed(
            "File has been modified since it was read, by the person or by a program. Read it again first."
        )


def note(path: Path, found: Content, state: ToolState) -> None:
    """Remember that the model has seen the file as it is."""
    state.seen[Path(os.path.realpath(path))] = found.seen


def look(path: Path, state: ToolState) -> None:
    """Remember that the model was shown a file, or a part of it, by a command."""
    try:
        found = content(path)
    except (OSError, ToolFailed):
        return
    note(path, Content(found.data, replace(found.seen, is_whole=False)), state)
