"""Limits for reading, buffering and verifying files, as one value."""

from __future__ import annotations

from msgspec import Struct

DAY = 86_400 * 10**9  # in nanoseconds, like all times in the archive


class ReadLimits(Struct, frozen=True):
    """Sizes in bytes, times in nanoseconds."""

    block: int = 1 << 20
    """Read at a time; it doubles for a longer line."""
    stream_above: int = 16 << 20
    """A longer line is never held in memory completely: it is hashed and stored as a stream."""
    max_stored: int = 256 << 20
    """Of a longer line or side file only the hash is stored."""
    spread_above: int = 48 << 20
    """More new lines than this are read by several processes."""
    window: int = 4096
    """Compared at both ends of what was read before reading resumes."""
    verify_below: int = 1 << 20
    """Up to this size all of what was read is compared; a hash of 1 MiB takes less than a millisecond (measured)."""
    commit_bytes: int = 16 << 20
    """Of packed lines, written in one transaction. A larger one writes pages of the indexes less often (measured)."""
    scrub_budget: int = 64 << 20
    """Compared completely in one poll, for files whose `scrub_age` has passed."""
    scrub_age: int = 7 * DAY
    racy: int = 2 * 10**9
    """A file modified this recently can change again within the same timestamp."""
