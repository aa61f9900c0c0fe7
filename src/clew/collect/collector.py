"""The collector: looks at everything, takes what changed, notes what is gone. A poll is the truth; what wakes it is not.

The promise: every whole line that stood in a file at a poll is in the archive, once, for ever.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import apsw

from clew.collect.archive.archive_writer import SETTLED, ArchiveWriter, KnownFile, known_files
from clew.collect.discovery import Scan, SourceFile, in_order, scan
from clew.collect.fingerprint import chain_of
from clew.collect.ingest import Taker
from clew.collect.masking import Policy
from clew.collect.poll_report import FileFailed, FileMoved, PollReport
from clew.collect.read_limits import DAY, ReadLimits
from clew.collect.retention import days_kept
from clew.collect.safe_open import open_found
from clew.errors import Stale

_WARN = 3  # days before Claude Code deletes a session


class Collector:
    """Collects one folder of Claude Code into an open archive."""

    def __init__(
        self,
        root: str,
        connection: apsw.Connection,
        key: bytes,
        *,
        policy: Policy = Policy(),  # noqa: B008 - a frozen value
        limits: ReadLimits = ReadLimits(),  # noqa: B008
        extras: bool = True,
        max_file: int = 0,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.root = os.path.realpath(root)
        self.connection = connection
        self.key = key
        self.policy = policy
        self.limits = limits
        self.extras = extras
        self.max_file = max_file
        self.clock = clock

    def poll(self, *, scrub: bool = False, progress: Callable[[int, int], None] | None = None) -> PollReport:
        """Take everything that is new. `scrub` compares all that was ever read with what stands there now.

        `progress` is told how many bytes were read, and how many there seemed to be.
        """
        now = self.clock()
        report = PollReport(days=days_kept(self.root))
        seen = scan(self.root, extras=self.extras)
        report.files, report.missed, report.skipped = len(seen.found), seen.missed, seen.skipped
        writer = ArchiveWriter(self.connection, self.key, self.policy, self.limits)
        try:
            number = self._root_number()
            known = known_files(self.connection, number)
            taker = Taker(self.root, number, writer, report, now)
            tell = progress or _tell_nobody
            total = sum(_new_bytes(found, known.get(found.path)) for found in seen.found) if progress else 0
            self._take_all(seen, known, taker, scrub, lambda: tell(report.bytes, total))
            self._note_gone(seen, known, writer, report, now)
            writer.close()
        finally:
            writer.undo()  # nothing, unless something went wrong
        return report

    def _root_number(self) -> int:
        number = self.connection.execute("SELECT id FROM root WHERE path = ?", (self.root,)).get
        if number is None:
            self.connection.execute("INSERT INTO root(path) VALUES(?)", (self.root,))
            return self.connection.last_insert_rowid()
        return int(number)

    def _take_all(
        self, seen: Scan, known: dict[str, KnownFile], taker: Taker, scrub: bool, tell: Callable[[], None]
    ) -> None:
        limit = taker.now - (taker.report.days - _WARN) * DAY
        absent = self._absent(seen, known)
        budget = self.limits.scrub
        for found in in_order(seen.found, limit):
            is_expiring = found.kind == "session" and found.state.mtime < limit
            taker.report.expiring += is_expiring
            file = known.get(found.path)
            if file is None:
                file = self._moved(found, absent, known, taker)
            elif file.kind != found.kind:
                file = taker.writer.save_kind(file, found)
            doubted = scrub or (file is not None and self._is_due(file, found, taker.now, limit, is_expiring))
            if doubted and not scrub and file and not found.is_whole:
                doubted = budget > 0 or is_expiring
                budget -= file.mark.offset
            if file is None or doubted or file.state != found.state or file.trust != SETTLED or file.gone:
                self._take(found, file, taker, doubted)
                tell()

    def _take(self, found: SourceFile, file: KnownFile | None, taker: Taker, doubted: bool) -> None:
        if self.max_file and found.state.size > self.max_file:
            taker.report.too_large.append(found.path)
            return
        try:
            taker.take(found, file, doubted=doubted)
        except (FileNotFoundError, Stale):  # gone or changed since it was looked at: the next poll will see
            taker.report.unsettled.append(found.path)
        except OSError as error:
            taker.report.failures.append(FileFailed(found.path, error.strerror or str(error)))

    def _is_due(self, file: KnownFile, found: SourceFile, now: int, limit: int, is_expiring: bool) -> bool:
        """Every file is compared whole from time to time, and once before Claude Code deletes it."""
        if found.is_whole or file.generation is None:
            return False
        age = now - file.scrubbed
        return (
            age > self.limits.scrub_age or age < 0 or (is_expiring and file.scrubbed < found.state.mtime + now - limit)
        )

    # -- moves

    def _absent(self, seen: Scan, known: dict[str, KnownFile]) -> dict[tuple[int, int], KnownFile]:
        """Files that are not where they were, by their identity on the disk."""
        there = {found.path for found in seen.found}
        missing = (f for f in known.values() if f.path not in there and f.mark.offset)
        return {f.state[:2]: f for f in missing if f.gone or not os.path.lexists(os.path.join(self.root, f.path))}

    def _moved(
        self, found: SourceFile, absent: dict[tuple[int, int], KnownFile], known: dict[str, KnownFile], taker: Taker
    ) -> KnownFile | None:
        """The file that stands under a new path now, if all that was read of it is in there."""
        file = absent.get(found.state[:2])
        if file is None or file.kind != found.kind or found.is_whole or found.state.size < file.mark.offset:
            return None
        try:
            with open_found(self.root, found) as opened:
                if chain_of(opened, file.mark.offset, self.key, self.limits) != file.mark.chain:
                    return None
        except (OSError, Stale):
            return None
        del absent[found.state[:2]]
        del known[file.path]
        taker.writer.move_file(file, found, taker.now)
        taker.report.moves.append(FileMoved(file.path, found.path))
        known[found.path] = file
        return file

    # -- deletions

    def _note_gone(
        self, seen: Scan, known: dict[str, KnownFile], writer: ArchiveWriter, report: PollReport, now: int
    ) -> None:
        """What is not there any more is noted and kept; a scan that was not whole proves nothing."""
        if seen.missed:
            return
        there = {found.path for found in seen.found}
        gone = [
            file for path, file in known.items() if path not in there and not file.gone and self._is_collected(file)
        ]
        writer.save_gone((file.id for file in gone), now)
        report.gone.extend(file.path for file in gone)

    def _is_collected(self, file: KnownFile) -> bool:
        """Whether this collector would have found it: without extras it has not looked for them."""
        return self.extras or file.kind in _CONVERSATION


_CONVERSATION = ("index", "session", "agent", "history", "stats")


def _tell_nobody(done: int, total: int) -> None:
    """The usual progress."""


def _new_bytes(found: SourceFile, known: KnownFile | None) -> int:
    """About how much of a file is new."""
    if known is not None and known.state == found.state:
        return 0
    return max(0, found.state.size - (known.mark.offset if known and not found.is_whole else 0))
