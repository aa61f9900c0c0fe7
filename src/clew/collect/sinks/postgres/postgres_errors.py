"""What PostgreSQL says when it fails, as errors of ours: one sentence, whether trying again may help, and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clew.collect.sinks.outbox import POISON
from clew.errors import StoreError

if TYPE_CHECKING:
    import psycopg

_KINDS: tuple[tuple[str, str, str, bool], ...] = (
    ("28", "password", "does not let this user in", False),
    ("3D000", "missing", "has no such database", False),
    ("3F000", "missing", "has no tables of clew", False),
    ("42P01", "missing", "has no tables of clew", False),
    ("42883", "missing", "has no tables of clew", False),
    ("42703", "version", "has tables of another version of clew", False),
    ("42501", "denied", "does not allow this", False),
    ("23505", "busy", "is being written to by another collector of this archive", True),
    ("22", POISON, "cannot take a record", False),
    ("23", POISON, "cannot take a record", False),
    ("54", POISON, "cannot take a record", False),
    ("53100", "full", "has no room left", True),
    ("25006", "read-only", "is only to be read, as a standby is", True),
    ("57014", "slow", "took too long", True),
    ("40", "busy", "is busy", True),
    ("53", "busy", "is busy", True),
)
_WORDS: tuple[tuple[tuple[str, ...], str, str, bool], ...] = (
    (
        ("password authentication failed", "no password supplied", "pg_hba.conf", "authentication failed"),
        "password",
        "does not let this user in",
        False,
    ),
    (("certificate", "SSL", "root.crt", "tls"), "tls", "cannot be reached through TLS that proves who it is", False),
    (("does not exist",), "missing", "has no such database", False),
    (("connection option",), "unknown", "is no address", False),
)
_AWAY = ("08", "57", "58", "XX")
_LEAD = re.compile(r"^connection (?:failed|is bad): (?:connection to server (?:at|on) .*? failed: )?(?:FATAL: +)?")
_HINTS = {
    "password": "Look at the user in the address; the password goes in ~/.pgpass or in a file named with --token-file.",
    "missing": "Who owns the database can make the tables: clew collect setup --to postgresql://…",
    "version": "Bring the tables up to date: clew collect setup --to postgresql://…",
    "denied": "The user needs the role clew_writer to send and clew_reader to ask. An archive has one writer.",
    "tls": "Name the authority with ?sslrootcert=FILE in the address, or ask for less with ?sslmode=require.",
    "full": "Nothing is lost; it goes on when there is room.",
}


@contextmanager
def explained(name: str) -> Iterator[None]:
    """The errors of psycopg as ours."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise failure(name, error) from None


def failure(name: str, error: psycopg.Error) -> StoreError:
    code, said = error.sqlstate or "", _first_line(error)
    row: tuple[str, str, bool] | None = next((k[1:] for k in _KINDS if code.startswith(k[0])), None) if code else None
    if row is None and not code:
        row = next((w[1:] for w in _WORDS if any(word in str(error) for word in w[0])), None)
    if row is None:
        is_away = not code or code.startswith(_AWAY)
        row = ("unavailable", "does not answer", True) if is_away else ("other", "failed", False)
    kind, what, retryable = row
    return StoreError(f"{name} {what}: {said}.", kind, retryable, hint=_HINTS.get(kind, ""))


def missing_extra() -> StoreError:
    return StoreError(
        "PostgreSQL needs an extra of clew that is not installed.",
        "extra",
        False,
        hint="Install it: pip install 'clew[postgres]'",
    )


def _first_line(error: psycopg.Error) -> str:
    """What the server said, without what it says to those who know the statement: that may repeat the data."""
    primary = error.diag.message_primary or str(error)
    lines = [line.strip() for line in primary.splitlines() if line.strip()]
    return _LEAD.sub("", lines[0] if lines else type(error).__name__).rstrip(".")[:300]
