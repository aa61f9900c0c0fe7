"""Poll a Claude Code folder: ingest changed files, follow moved ones, record deleted ones.

Guarantee: every complete line that a file contained at the time of a poll is in the archive exactly once, for ever.
Notifications only trigger polls; correctness depends on the poll alone.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

import apsw

from clew.collect.archive.archive_writer import SETTLED, ArchiveWriter
from clew.collect.archive.erase import read_erased
from clew.collect.archive.known_files import KnownFile, KnownFiles, known_files
from clew.collect.discovery import Scan, SourceFile, SourceFiles, in_reading_order, scan
from clew.collect.fingerprint import compute_chain
from clew.collect.ingest import FileIngester
from clew.collect.masking import Policy
from clew.collect.poll_report import FileFailed, FileMoved, PollReport
from clew.collect.prepared_lines import Precursor
from clew.collect.read_ahead import ExpectedLines, ReadAhead
from clew.collect.read_limits import DAY, ReadLimits
from clew.collect.safe_open import open_source
from clew.errors import Stale
from clew.wire.arrival_time import cleanup_days

_EXPIRY_WARNING_DAYS = 3  # days before Claude Code deletes a session


_ByInode = dict[tuple[int, ...], KnownFile]  # by device and inode


class _DueFile(NamedTuple):
    """A file that must be looked at, and where its new bytes probably begin. `must_verify` compares those before; a new
    generation of the file gets the reserved id.
    """

    source: SourceFile
    base: int
    must_verify: bool
    reserved: int = 0


class _DueFiles:
    """The files that must be looked at, in reading order; new generations of them get the ids from `first_id` on."""

    def __init__(self, first_id: int, files: Iterable[_DueFile]) -> None:
        self._first_id = first_id
        self._sources = SourceFiles()
        self._bases = array("q")
        self._is_verified = bytearray()
        for source, base, must_verify, _ in files:
            self._sources.append(source)
            self._bases.append(base)
            self._is_verified.append(must_verify)

    def __iter__(self) -> Iterator[_DueFile]:
        values = zip(self._sources, self._bases, map(bool, self._is_verified), strict=True)
        return (_DueFile(*each, id) for id, each in enumerate(values, self._first_id))


class _NewLines:
    """Where the new lines of files probably begin, and after what."""

    def __init__(self, due: _DueFiles, known: KnownFiles, key: bytes) -> None:
        self._due, self._known, self._key = due, known, key

    def __iter__(self) -> Iterator[ExpectedLines]:
        for due in self._due:
            if due.base < due.source.state.size and not due.source.is_whole:
                yield self._expect(due)

    def _expect(self, due: _DueFile) -> ExpectedLines:
        file = self._known.get(due.source.path)
        if file is None or file.generation is None:
            return ExpectedLines(due.source, due.base, Precursor(due.reserved, 0, 0, self._key))
        return ExpectedLines(due.source, due.base, Precursor(file.generation, *file.mark[:3]))


class Collector:
    """Collects one Claude Code folder into an open archive."""

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
        jobs: int | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.root = os.path.realpath(root)
        self.connection = connection
        self.key = key
        self.policy = policy
        self.limits = limits
        self.extras = extras
        self.max_file = max_file
        self.jobs = jobs
        self.clock = clock

    def poll(self, *, scrub: bool = False, progress: Callable[[int, int], None] | None = None) -> PollReport:
        """Ingest everything that is new. `scrub` re-reads everything ever read and compares it with the files.

        `progress` is called with the number of bytes read and the estimated total.
        """
        now = self.clock()
        report = PollReport(days=cleanup_days(self.root))
        listing = scan(self.root, extras=self.extras)
        sessions, projects = (read_erased(self.connection, kind) for kind in ("session", "project"))
        if sessions or projects:
            wanted = (s for s in listing.sources if s.session not in sessions and s.project not in projects)
            listing = listing._replace(sources=SourceFiles(wanted))
        report.files, report.missed, report.skipped = len(listing.sources), listing.missed, listing.skipped
        report.misnamed = listing.misnamed
        writer = ArchiveWriter(self.connection, self.key, self.policy, self.limits)
        try:
            number = self._root_number()
            known = known_files(self.connection, number)
            absent = set(known)
            absent.difference_update(source.path for source in listing.sources)
            missing = self._missing_by_inode(absent, known)
            due = _DueFiles(writer.next_generation(), self._find_due(listing, known, missing, report, now, scrub))
            listing = listing._replace(sources=SourceFiles())  # there may be many
            plan = _NewLines(due, known, self.key)
            with closing(ReadAhead(self.root, writer.preparer, plan, self.jobs)) as reader:
                ingester = FileIngester(self.root, number, writer, reader, report, now)
                total = sum(max(0, each.source.state.size - each.base) for each in due)
                for _ in self._ingest_due(due, known, missing, ingester):
                    if progress:
                        progress(report.bytes, total)
            self._record_deleted(listing, absent, known, writer, report, now)
            writer.close()
        finally:
            writer.undo()  # no effect after close()
        self.connection.execute("PRAGMA shrink_memory")
        return report

    def _root_number(self) -> int:
        number = self.connection.execute("SELECT id FROM root WHERE path = ?", (self.root,)).get
        if number is None:
            self.connection.execute("INSERT INTO root(path) VALUES(?)", (self.root,))
            return self.connection.last_insert_rowid()
        return int(number)

    def _find_due(
        self, listing: Scan, known: KnownFiles, missing: _ByInode, report: PollReport, now: int, scrub: bool
    ) -> Iterator[_DueFile]:
        """Yield the files that must be looked at, in reading order."""
        expiry_time = now - (report.days - _EXPIRY_WARNING_DAYS) * DAY
        budget = self.limits.scrub_budget
        for source in in_reading_order(listing.sources, expiry_time):
            is_expiring = source.kind == "session" and source.state.mtime < expiry_time
            report.expiring += is_expiring
            size = source.state.size
            is_too_large = bool(self.max_file and size > self.max_file)
            file = known.get(source.path)
            if file is None:
                is_moved = source.state[:2] in missing
                yield _DueFile(source, size if is_moved or is_too_large else 0, scrub)
                continue
            must_verify = scrub or self._is_verification_due(file, source, now, expiry_time, is_expiring)
            if must_verify and not scrub and not source.is_whole:
                must_verify = budget > 0 or is_expiring
                budget -= file.mark.offset
            if must_verify or file.kind != source.kind or not _is_unchanged(file, source):
                is_read = is_too_large or file.state == source.state
                yield _DueFile(source, size if is_read else 0 if source.is_whole else file.mark.offset, must_verify)

    def _ingest_due(
        self, due: Iterable[_DueFile], known: KnownFiles, missing: _ByInode, ingester: FileIngester
    ) -> Iterator[None]:
        """Ingest files; yield after each."""
        for source, _, must_verify, ingester.reserved in due:
            file = known.get(source.path)
            if file is None:
                file = self._find_moved(source, missing, known, ingester)
            elif file.kind != source.kind:
                file = ingester.writer.save_kind(file, source)
            if file is None or must_verify or not _is_unchanged(file, source):
                self._ingest_file(source, file, ingester, must_verify)
                yield

    def _ingest_file(
        self, source: SourceFile, file: KnownFile | None, ingester: FileIngester, must_verify: bool
    ) -> None:
        if self.max_file and source.state.size > self.max_file:
            ingester.report.too_large.append(source.path)
            return
        try:
            ingester.ingest(source, file, must_verify=must_verify)
        except (FileNotFoundError, Stale):  # deleted or replaced since the scan; the next poll handles it
            ingester.report.unsettled.append(source.path)
        except OSError as error:
            ingester.report.failures.append(FileFailed(source.path, error.strerror or str(error)))

    def _is_verification_due(
        self, file: KnownFile, source: SourceFile, now: int, expiry_time: int, is_expiring: bool
    ) -> bool:
        """Return whether a file must be compared completely: every `scrub_age`, and once before Claude Code deletes
        it.
        """
        if source.is_whole or file.generation is None:
            return False
        age = now - file.scrubbed
        return (
            age > self.limits.scrub_age
            or age < 0
            or (is_expiring and file.scrubbed < source.state.mtime + now - expiry_time)
        )

    # -- moves

    def _missing_by_inode(self, absent: Container[str], known: KnownFiles) -> _ByInode:
        """Return known files that are no longer at their path, by (device, inode)."""
        files = (known[path] for path in known if path in absent)
        missing = (file for file in files if file.mark.offset)
        return {f.state[:2]: f for f in missing if f.gone or not os.path.lexists(os.path.join(self.root, f.path))}

    def _find_moved(
        self,
        source: SourceFile,
        missing: _ByInode,
        known: KnownFiles,
        ingester: FileIngester,
    ) -> KnownFile | None:
        """Return the known file that now has this path, if everything that was read of it is still in there.

        An inode alone proves nothing, because file systems reuse inode numbers.
        """
        file = missing.get(source.state[:2])
        if file is None or file.kind != source.kind or source.is_whole or source.state.size < file.mark.offset:
            return None
        try:
            with open_source(self.root, source) as opened:
                if compute_chain(opened, file.mark.offset, self.key, self.limits) != file.mark.chain:
                    return None
        except (OSError, Stale):
            return None
        del missing[source.state[:2]]
        del known[file.path]
        ingester.writer.move_file(file, source, ingester.now)
        ingester.report.moves.append(FileMoved(file.path, source.path))
        known[source.path] = file
        return file

    # -- deletions

    def _record_deleted(
        self,
        listing: Scan,
        absent: Container[str],
        known: KnownFiles,
        writer: ArchiveWriter,
        report: PollReport,
        now: int,
    ) -> None:
        """Mark known files that are absent and were not moved; their content stays. An incomplete scan proves nothing."""
        if listing.missed:
            return
        files = (known[path] for path in known if path in absent)
        deleted = [file for file in files if not file.gone and self._is_in_scope(file)]
        writer.save_deleted((file.id for file in deleted), now)
        report.gone.extend(file.path for file in deleted)

    def _is_in_scope(self, file: KnownFile) -> bool:
        """Return whether this collector scans for such files: without `extras` it does not look for side files."""
        return self.extras or file.kind in _CONVERSATION_KINDS


_CONVERSATION_KINDS = ("index", "session", "agent", "history", "stats")


def _is_unchanged(file: KnownFile, source: SourceFile) -> bool:
    return file.state == source.state and file.trust == SETTLED and not file.gone
