"""Shorten the output of commands for the model, and save the complete output."""

from __future__ import annotations

import os
from pathlib import Path

from clew.chat.tools.atomic_files import save_output
from clew.chat.tools.size_format import format_size
from clew.chat.tools.tool import ToolContext
from clew.wire.json_codec import Json

INLINE_LIMIT = 30_000  # characters
PREVIEW_LENGTH = 2_000
FAILED_LIMIT = 10_000  # characters of the output of a failed command: half from the start, half from the end


def read_start(path: Path, most: int = INLINE_LIMIT) -> tuple[str, bool]:
    """Return the first `most` characters of a file, and whether that is all of it."""
    with open(path, "rb") as file:
        data = file.read(most * 4 + 4)
        is_all = not file.read(1)
    text = data.decode("utf-8", "replace")
    if is_all:
        text = text.rstrip("\r\n")
    return text[:most], is_all and len(text) <= most


def read_end(path: Path, most: int) -> str:
    """Return the last characters of a file."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most * 4))
        return file.read().decode("utf-8", "replace").rstrip("\r\n")[-most:]


def persist_output(path: Path, scene: ToolContext) -> tuple[str, Json]:
    """Save a long output in the session folder; return the text for the model and the recorded fields."""
    saved_path = save_output(path, scene)
    size = path.stat().st_size
    text = read_start(path, PREVIEW_LENGTH)[0]
    message = (
        f"<persisted-output>\nOutput too large ({format_size(size)}). Full output saved to: {saved_path}\n\n"
        f"Preview (first 2KB):\n{text}\n...\n</persisted-output>"
    )
    return message, {"persistedOutputPath": str(saved_path), "persistedOutputSize": size}


def shorten_failed_output(path: Path, scene: ToolContext) -> str:
    """Return the start and the end of a failed command's long output, with the path of the complete output."""
    saved_path = save_output(path, scene)
    head, tail = read_start(path, FAILED_LIMIT // 2)[0], read_end(path, FAILED_LIMIT // 2)
    return f"{head}\n\n... [cut: the full output is in {saved_path}] ...\n\n{tail}"


def truncate_start(text: str) -> str:
    """Return the last part of a long text."""
    if len(text) <= INLINE_LIMIT:
        return text
    return f"[{len(text) - INLINE_LIMIT} characters before this are left out]\n{text[-INLINE_LIMIT:]}"
