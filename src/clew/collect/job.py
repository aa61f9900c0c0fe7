"""Open and lock an archive, and create its collector."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from clew.collect.archive.archive_schema import load_key, open_archive
from clew.collect.archive.reader import archive_path
from clew.collect.archive.sqlite_errors import translate_errors
from clew.collect.collector import Collector
from clew.collect.collector_lock import hold_lock
from clew.collect.config import Identity
from clew.collect.identity import Owner, read_owner, resolve_owner, save_owner
from clew.collect.masking import Policy
from clew.collect.poll_report import PollReport
from clew.wire.layout import claude_dir


class CollectJob(Struct, frozen=True):
    """What to collect, into which archive, and whether secrets are masked before they are stored."""

    root: str
    archive: str
    redact: bool = False
    extras: bool = True
    max_file: int = 0  # bytes; larger files are skipped
    jobs: int | None = None  # processes that read; None is one for each core

    @property
    def key(self) -> str:
        return f"{self._base}.key"

    @property
    def lock(self) -> str:
        return f"{self._base}.lock"

    @property
    def _base(self) -> str:
        """The path of the archive itself without its suffix, also if it was named through a link."""
        return os.path.splitext(os.path.realpath(self.archive))[0]


@contextmanager
def lock_archive(job: CollectJob) -> Iterator[None]:
    """Exclude other collectors of the same archive."""
    with hold_lock(job.lock):
        yield


@contextmanager
def open_collector(job: CollectJob) -> Iterator[Collector]:
    """Open the archive and yield its collector. After a disk failure open a new one; never retry on this one."""
    with translate_errors(job.archive):
        key = load_key(job.key)
        connection = open_archive(job.archive)
        try:
            policy = Policy(key) if job.redact else Policy()
            if read_owner(connection) == Owner():
                save_owner(connection, resolve_owner(Identity()))
            yield Collector(
                job.root, connection, key, policy=policy, extras=job.extras, max_file=job.max_file, jobs=job.jobs
            )
        finally:
            connection.close()


def archive(
    path: str | os.PathLike[str] | None = None,
    *,
    claude: str | os.PathLike[str] | None = None,
    redact: bool = False,
) -> PollReport:
    """Archive every line that is new since the last time, and return what was read. Raises Busy, StoreError."""
    job = CollectJob(str(claude_dir(claude)), archive_path(path), redact)
    with lock_archive(job), open_collector(job) as collector:
        return collector.poll()
