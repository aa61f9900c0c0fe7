"""Outputs of commands: what of them the model sees, and where the rest lies."""

from __future__ import annotations

import os
from pathlib import Path

from clew.chat.tools.atomic_files import keep
from clew.chat.tools.size_format import told_size
from clew.chat.tools.tool import ToolContext
from clew.wire.json_codec import Json

INLINE = 30_000  # characters
PREVIEW = 2_000
FAILED = 10_000  # characters of the output of a command that failed: half of them from the start, half from the end


def start(path: Path, most: int = INLINE) -> tuple[str, bool]:
    """The text of a file as far as so many characters, and whether that is all of it."""
    with open(path, "rb") as file:
        data = file.read(most * 4 + 4)
        is_all = not file.read(1)
    text = data.decode("utf-8", "replace")
    if is_all:
        text = text.rstrip("\r\n")
    return text[:most], is_all and len(text) <= most


def end(path: Path, most: int) -> str:
    """The last characters of a file."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most * 4))
        return file.read().decode("utf-8", "replace").rstrip("\r\n")[-most:]


def persisted(path: Path, scene: ToolContext) -> tuple[str, Json]:
    """A long output put into the session's folder: what the model is told instead, and what is recorded."""
    kept = keep(path, scene)
    size = path.stat().st_size
    text = start(path, PREVIEW)[0]
    told = (
        f"<persisted-output>\nOutput too large ({told_size(size)}). Full output saved to: {kept}\n\n"
        f"Preview (first 2KB):\n{text}\n...\n</persisted-output>"
    )
    return told, {"persistedOutputPath": str(kept), "persistedOutputSize": size}


def ends(path: Path, scene: ToolContext) -> str:
    """The start and the end of a long output of a command that failed; where all of it lies."""
    kept = keep(path, scene)
    head, tail = start(path, FAILED // 2)[0], end(path, FAILED // 2)
    return f"{head}\n\n... [cut: the full output is in {kept}] ...\n\n{tail}"


def bounded(text: str) -> str:
    """The end of a text, if it is long."""
    if len(text) <= INLINE:
        return text
    return f"[{len(text) - INLINE} characters before this are left out]\n{text[-INLINE:]}"
