"""Track which files the model has read: a file can be changed only if it is as last read or written."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from clew.chat.tools.atomic_files import Content, read_content
from clew.chat.tools.tool import ToolFailed, ToolState


def require_read(path: Path, content: Content, state: ToolState) -> None:
    """Raise ToolFailed if the model has not read the file, or if it changed since."""
    known = state.seen.get(Path(os.path.realpath(path)))
    if known is None:
        raise ToolFailed("File has not been read yet. Read it first before writing to it.")
    if known.digest != content.seen.digest:
        raise ToolFailed("File has been modified since it was read, by the user or by a program. Read it again first.")


def mark_read(path: Path, content: Content, state: ToolState) -> None:
    """Remember that the model has read the file in this state."""
    state.seen[Path(os.path.realpath(path))] = content.seen


def mark_read_before(path: Path, mtime: float, state: ToolState) -> None:
    """Remember that the model has read the file, unless the file changed after `mtime`, in milliseconds."""
    try:
        content = read_content(path)
    except (OSError, ToolFailed):
        return
    if content.seen.mtime_ns // 1_000_000 <= mtime:
        mark_read(path, content, state)


def mark_viewed(path: Path, state: ToolState) -> None:
    """Remember that a command showed a file, or part of it, to the model."""
    try:
        file_content = read_content(path)
    except (OSError, ToolFailed):
        return
    mark_read(path, Content(file_content.data, replace(file_content.seen, is_whole=False)), state)
