"""Running: a collector with its archive open and locked, once or again and again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from clew.collect.archive.archive_schema import open_archive, private_key
from clew.collect.archive.sqlite_errors import explained
from clew.collect.collector import Collector
from clew.collect.collector_lock import alone
from clew.collect.masking import Policy


@dataclass(frozen=True, slots=True)
class CollectJob:
    """What to collect, where to, and whether secrets are masked on the way in."""

    root: str
    archive: str
    redact: bool = False
    extras: bool = True
    max_file: int = 0  # bytes; larger files are left out

    @property
    def key(self) -> str:
        return f"{os.path.splitext(self.archive)[0]}.key"

    @property
    def lock(self) -> str:
        return f"{os.path.splitext(self.archive)[0]}.lock"


@contextmanager
def locked(job: CollectJob) -> Iterator[None]:
    """Keep other collectors of the same archive out."""
    with alone(job.lock):
        yield


@contextmanager
def collecting(job: CollectJob) -> Iterator[Collector]:
    """A collector on an archive that was opened for it: after a failure of the disk it is opened anew, never retried."""
    with explained(job.archive):
        key = private_key(job.key)
        connection = open_archive(job.archive)
        try:
            policy = Policy(key) if job.redact else Policy()
            yield Collector(job.root, connection, key, policy=policy, extras=job.extras, max_file=job.max_file)
        finally:
            connection.close()
