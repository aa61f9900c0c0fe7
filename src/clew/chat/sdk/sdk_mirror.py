"""Send every line that is written to the SDK as well, for a separate store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from clew.chat.sdk.sdk_frames import MAX_LINE
from clew.chat.store.journal import Write
from clew.wire.json_codec import Json, encode


def mirror_writes(write: Write, send: Callable[[bytes], None], warn: Callable[[str], None]) -> Write:
    """Return a writer that also sends each line after it is written. A line that is too long for a frame is only
    written.
    """

    def write_and_send(path: Path, lines: Sequence[Json], sync: bool) -> None:
        write(path, lines, sync)
        pending: list[Json] = []
        size = 0
        for line in lines:
            length = len(encode(line))
            if length > MAX_LINE:
                warn(f"clew: a line of {length} bytes is not mirrored: {path}")
                continue
            if pending and size + length > MAX_LINE:
                send(_frame(path, pending))
                pending, size = [], 0
            pending.append(line)
            size += length
        if pending:
            send(_frame(path, pending))

    return write_and_send


def _frame(path: Path, lines: list[Json]) -> bytes:
    return encode({"type": "transcript_mirror", "filePath": str(path), "entries": lines}) + b"\n"
