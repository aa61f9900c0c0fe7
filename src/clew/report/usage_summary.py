"""Cache the usage of a tree by quarter of an hour and model in a small file.

The summary is valid for exactly the transcripts whose state it lists. As long as they do not change, a report by time or
model needs nothing else, and no library is imported to read it.
"""

from __future__ import annotations

import marshal
import os
from zlib import crc32

from clew.errors import UNEXPECTED_ERRORS
from clew.report.usage_bucket import UsageBucket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from clew.wire.tree_walk import TranscriptFile

    class UsageSummary(NamedTuple):
        """`states` are the files it was built from; `is_whole` is True if all of them could be read."""

        states: dict[str, tuple[int, int, int]]
        buckets: list[UsageBucket]
        is_whole: bool
else:
    from collections import namedtuple

    UsageSummary = namedtuple("UsageSummary", "states buckets is_whole")

VERSION = 3
_CHECKED = 4  # bytes of the checksum at the beginning: damaged data is not passed to `marshal`


def cache_folder(root: str, cache: str) -> str:
    """Return the cache folder for the usage of a folder of Claude Code."""
    path = os.path.realpath(root).encode("utf-8", "surrogateescape")
    return os.path.join(cache, "usage", f"{crc32(path):08x}-{len(path)}")


def file_states(files: Iterable[TranscriptFile]) -> dict[str, tuple[int, int, int]]:
    return {file.path: (file.inode, file.size, file.mtime_ns) for file in files}


def load_summary(folder: str) -> UsageSummary | None:
    """Return the stored summary, whatever its state; None if there is none that can be read."""
    data = _read_checked(folder)
    try:
        version, is_whole, size, buckets = marshal.loads(data)
        states = marshal.loads(data[-size:]) if version == VERSION else {}
        return UsageSummary(states, list(map(UsageBucket._make, buckets)), is_whole) if version == VERSION else None
    except UNEXPECTED_ERRORS:
        return None


def load_recent(folder: str, since: float) -> list[UsageBucket] | None:
    """Return only the buckets since a time, whatever the state of the files; None if there is no summary."""
    try:
        version, _, _, buckets = marshal.loads(_read_checked(folder))
        return [UsageBucket._make(bucket) for bucket in buckets if bucket[0] >= since] if version == VERSION else None
    except UNEXPECTED_ERRORS:
        return None


def _read_checked(folder: str) -> bytes:
    """Return the data of a summary; empty if it is missing or damaged."""
    try:
        with open(os.path.join(folder, "summary"), "rb") as file:
            checksum, data = file.read(_CHECKED), file.read()
    except OSError:
        return b""
    return data if crc32(data).to_bytes(_CHECKED, "big") == checksum else b""


def save_summary(folder: str, summary: UsageSummary) -> None:
    """Replace the stored summary atomically, readable by the user only."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    states = marshal.dumps(summary.states)
    buckets = marshal.dumps((VERSION, summary.is_whole, len(states), list(map(tuple, summary.buckets))))
    path = os.path.join(folder, f"summary.{os.getpid()}")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(crc32(buckets + states).to_bytes(_CHECKED, "big") + buckets + states)
    os.replace(path, os.path.join(folder, "summary"))


def delete_summary(folder: str) -> None:
    """Delete the stored summary, if there is one."""
    try:
        os.unlink(os.path.join(folder, "summary"))
    except FileNotFoundError:
        return
