"""Failures of the archive: the errors of SQLite as ours, in one sentence and with the next step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

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
