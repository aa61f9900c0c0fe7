"""The summary: the usage of a tree by quarter of an hour and model, kept in a file of its own.

It is a cache. It holds for exactly the transcripts whose state it names; while they are as they were, a report by time or
model needs nothing else, and no library has to be loaded to read it.
"""

from __future__ import annotations

import marshal
import os
from zlib import crc32

from clew.errors import UNEXPECTED_ERRORS
from clew.report.usage_bucket import Cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from clew.wire.tree_walk import TranscriptFile

    class UsageSummary(NamedTuple):
        """`states` says of which files it was made; `is_whole`, whether all of them could be read."""

        states: dict[str, tuple[int, int, int]]
        cells: list[Cell]
        is_whole: bool
else:
    from collections import namedtuple

    UsageSummary = namedtuple("Summary", "states cells is_whole")

VERSION = 3
_CHECKED = 4  # bytes of the checksum before the rest: what was damaged on the disk is not given to `marshal`


def folder_of(root: str, cache: str) -> str:
    """Where what is kept of the usage of a folder of Claude Code lies."""
    path = os.path.realpath(root).encode("utf-8", "surrogateescape")
    return os.path.join(cache, "usage", f"{crc32(path):08x}-{len(path)}")


def states_of(found: Iterable[TranscriptFile]) -> dict[str, tuple[int, int, int]]:
    return {file.path: (file.inode, file.size, file.mtime_ns) for file in found}


def load(folder: str) -> UsageSummary | None:
    """The summary that is kept, of whatever state; None if there is none that can be read."""
    data = _data(folder)
    try:
        version, is_whole, size, cells = marshal.loads(data)
        states = marshal.loads(data[-size:]) if version == VERSION else {}
        return UsageSummary(states, list(map(Cell._make, cells)), is_whole) if version == VERSION else None
    except UNEXPECTED_ERRORS:
        return None


def recent(folder: str, since: float) -> list[Cell] | None:
    """Only what came since then, whatever the state of the files; None if there is no summary."""
    try:
        version, _, _, cells = marshal.loads(_data(folder))
        return [Cell._make(cell) for cell in cells if cell[0] >= since] if version == VERSION else None
    except UNEXPECTED_ERRORS:
        return None


def _data(folder: str) -> bytes:
    """The bytes of a summary; none if there is no sound one."""
    try:
        with open(os.path.join(folder, "summary"), "rb") as file:
            checksum, data = file.read(_CHECKED), file.read()
    except OSError:
        return b""
    return data if crc32(data).to_bytes(_CHECKED, "big") == checksum else b""


def save(folder: str, summary: UsageSummary) -> None:
    """Put a summary in the place of the one before, whole or not at all; for the eyes of the user alone."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    states = marshal.dumps(summary.states)
    cells = marshal.dumps((VERSION, summary.is_whole, len(states), list(map(tuple, summary.cells))))
    path = os.path.join(folder, f"summary.{os.getpid()}")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(crc32(cells + states).to_bytes(_CHECKED, "big") + cells + states)
    os.replace(path, os.path.join(folder, "summary"))
