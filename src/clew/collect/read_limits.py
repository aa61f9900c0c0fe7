"""Limits: how much is read, held and looked at again in one go. One value, so that all of it can be seen at once."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 86_400 * 10**9  # in nanoseconds, as all times of the archive are


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Sizes in bytes, times in nanoseconds."""

    block: int = 1 << 20
    """Read at a time; a line that is longer makes it grow."""
    long: int = 16 << 20
    """A longer line is never in memory as a whole: it is hashed and stored as a stream."""
    longest: int = 256 << 20
    """A longer line is kept by its hash alone, and so is a longer side file."""
    window: int = 4096
    """Compared at both ends of what was read before a file is read on."""
    sure: int = 1 << 20
    """What was read is compared whole if it is no longer than this; a hash of 1 MiB takes less than a millisecond."""
    commit: int = 8 << 20
    """Written before a transaction ends."""
    scrub: int = 64 << 20
    """Compared whole in one poll, of the files whose turn it is."""
    scrub_age: int = 7 * DAY
    racy: int = 2 * 10**9
    """A file that changed so shortly before it was looked at can change again without a new time."""
