"""The mirror: what is written down is told to the SDK as well, for a store of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from clew.chat.sdk.sdk_frames import LONGEST
from clew.chat.store.journal import Write
from clew.wire.json_codec import Json, encode


def mirrored(write: Write, send: Callable[[bytes], None], remark: Callable[[str], None]) -> Write:
    """Write lines and tell them, each once it is written. One that is too long for a frame is only written."""

    def both(path: Path, lines: Sequence[Json], sync: bool) -> None:
        write(path, lines, sync)
        kept: list[Json] = []
        size = 0
        for line in lines:
            length = len(encode(line))
            if length > LONGEST:
                remark(f"clew: a line of {length} bytes is not mirrored: {path}")
                continue
            if kept and size + length > LONGEST:
                send(_frame(path, kept))
                kept, size = [], 0
            kept.append(line)
            size += length
        if kept:
            send(_frame(path, kept))

    return both


def _frame(path: Path, lines: list[Json]) -> bytes:
    return encode({"type": "transcript_mirror", "filePath": str(path), "entries": lines}) + b"\n"
