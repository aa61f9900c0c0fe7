"""Translate SQLite errors of the archive into one-sentence errors with a next step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from clew.errors import Busy, ClewError, StoreError

_ERRORS: tuple[tuple[type[apsw.Error], str, str, bool], ...] = (
    (apsw.FullError, "full", "the disk is full", True),
    (apsw.ReadOnlyError, "read-only", "it is not writable", False),
    (apsw.CantOpenError, "closed", "it cannot be opened", False),
    (apsw.CorruptError, "damaged", "it is damaged", False),
    (apsw.NotADBError, "damaged", "it is not an archive", False),
    (apsw.IOError, "io", "the disk failed", True),
)
_HINTS = {
    "full": "Free disk space and run it again: nothing is lost or stored twice.",
    "io": "Run it again: whatever was not stored is read again.",
    "read-only": "Check that you may write to the file and its folder.",
    "closed": "Check that you may write to the file and its folder.",
    "damaged": "See what is damaged with: clew collect verify; restore a backup with: clew collect restore-archive FILE",
}


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Raise SQLite errors as Busy or StoreError."""
    try:
        yield
    except UnicodeDecodeError as error:  # a flipped bit in a text column
        raise _translate(path, apsw.CorruptError()) from error
    except apsw.BusyError:
        raise Busy(path) from None
    except apsw.Error as error:
        raise _translate(path, error) from error


def _translate(path: str, error: apsw.Error) -> ClewError:
    match = next((row for row in _ERRORS if isinstance(error, row[0])), None)
    _, kind, reason, retryable = match or (apsw.Error, "other", str(error), False)
    return StoreError(f"The archive {path} failed: {reason}.", kind, retryable, hint=_HINTS.get(kind, ""))
