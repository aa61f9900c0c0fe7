"""The result of a poll: counts, resets, moves and failures."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field


class Reset(NamedTuple):
    """A file whose earlier content changed: it was truncated, replaced or rewritten in place."""

    path: str
    reason: str
    generation: int


class FileMoved(NamedTuple):
    old: str
    new: str


class FileFailed(NamedTuple):
    """A file that could not be read; the next poll tries it again."""

    path: str
    reason: str


class PollReport(Struct):
    """The result of one poll. Sizes are in bytes."""

    files: int = 0
    opened: int = 0
    lines: int = 0
    bytes: int = 0
    damaged: int = 0
    pending: int = 0
    scrubbed: int = 0
    expiring: int = 0
    days: int = 0
    gone: list[str] = field(default_factory=list)
    resets: list[Reset] = field(default_factory=list)
    moves: list[FileMoved] = field(default_factory=list)
    failures: list[FileFailed] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    """Files that changed while they were read; the next poll ingests them."""
    missed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    misnamed: list[str] = field(default_factory=list)
    """Files that are not read because their names are not UTF-8."""
    too_long: list[str] = field(default_factory=list)
    """Lines that are longer than the archive can hold, as `path:line`; their hashes are stored."""
    repaired: list[str] = field(default_factory=list)
    """Files whose lines were damaged in the archive and were written again."""

    @property
    def is_quiet(self) -> bool:
        return not (
            self.lines or self.gone or self.resets or self.moves or self.failures or self.unsettled or self.repaired
        )
