"""Running: a collector with its archive open and locked, once or again and again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import apsw

from clew.collect.collector import Collector
from clew.collect.lock import alone
from clew.collect.policy import Policy
from clew.collect.schema import open_archive, private_key
from clew.errors import Busy, ClewError, StoreError

_KINDS: tuple[tuple[type[apsw.Error], str, str, bool], ...] = (
    (apsw.FullError, "full", "the disk is full", True),
    (apsw.ReadOnlyError, "read-only", "it is not writable", False),
    (apsw.CantOpenError, "closed", "it cannot be opened", False),
    (apsw.CorruptError, "damaged", "it is damaged", False),
    (apsw.NotADBError, "damaged", "it is no archive", False),
    (apsw.IOError, "io", "the disk failed", True),
)
_HINTS = {
    "full": "Make room and run it again: nothing is lost, and nothing will be kept twice.",
    "io": "Run it again: what was not on the disk is read once more.",
    "read-only": "Look whether the file and its folder are yours to write.",
    "closed": "Look whether the file and its folder are yours to write.",
    "damaged": "Keep it as it is, and name another with --archive.",
}


@dataclass(frozen=True, slots=True)
class Job:
    """What to collect, where to, and whether secrets are masked on the way in."""

    root: str
    archive: str
    redact: bool = False
    extras: bool = True

    @property
    def key(self) -> str:
        return f"{os.path.splitext(self.archive)[0]}.key"

    @property
    def lock(self) -> str:
        return f"{os.path.splitext(self.archive)[0]}.lock"


@contextmanager
def locked(job: Job) -> Iterator[None]:
    """Keep other collectors of the same archive out."""
    with alone(job.lock):
        yield


@contextmanager
def collecting(job: Job) -> Iterator[Collector]:
    """A collector on an archive that was opened for it: after a failure of the disk it is opened anew, never retried."""
    with explained(job.archive):
        key = private_key(job.key)
        connection = open_archive(job.archive)
        try:
            policy = Policy(key) if job.redact else Policy()
            yield Collector(job.root, connection, key, policy=policy, extras=job.extras)
        finally:
            connection.close()


@contextmanager
def explained(path: str) -> Iterator[None]:
    """The errors of SQLite as ours."""
    try:
        yield
    except apsw.BusyError:
        raise Busy(path) from None
    except apsw.Error as error:
        raise _failure(path, error) from error


def _failure(path: str, error: apsw.Error) -> ClewError:
    found = next((row for row in _KINDS if isinstance(error, row[0])), None)
    _, kind, reason, retryable = found or (apsw.Error, "other", str(error), False)
    failure = StoreError(f"The archive {path} failed: {reason}.", kind, retryable)
    failure.hint = _HINTS.get(kind, "")
    return failure
