"""Translate PostgreSQL errors into one sentence, whether a retry may help, and a next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clew.collect.sinks.outbox import POISON
from clew.errors import StoreError
from clew.system.extras import install_hint

if TYPE_CHECKING:
    import psycopg

_BY_SQLSTATE: tuple[tuple[str, str, str, bool], ...] = (
    ("28", "password", "rejected this user", False),
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
    ("25006", "read-only", "is read-only, like a standby", True),
    ("57014", "slow", "took too long", True),
    ("40", "busy", "is busy", True),
    ("53", "busy", "is busy", True),
)
_BY_MESSAGE: tuple[tuple[tuple[str, ...], str, str, bool], ...] = (
    (
        ("password authentication failed", "no password supplied", "pg_hba.conf", "authentication failed"),
        "password",
        "rejected this user",
        False,
    ),
    (("certificate", "SSL", "root.crt", "tls"), "tls", "cannot be reached through TLS that proves who it is", False),
    (("does not exist",), "missing", "has no such database", False),
    (("connection option",), "unknown", "is not a valid address", False),
)
_UNAVAILABLE = ("08", "57", "58", "XX")
_MESSAGE_PREFIX = re.compile(
    r"^connection (?:failed|is bad): (?:connection to server (?:at|on) .*? failed: )?(?:FATAL: +)?"
)
_HINTS = {
    "password": "Check the user in the address; put the password in ~/.pgpass or in a file given with --token-file.",
    "missing": "The owner of the database can create the tables: clew collect setup --to postgresql://…",
    "version": "Update the tables: clew collect setup --to postgresql://…",
    "denied": "The user needs the role clew_writer to send and clew_reader to query. An archive has one writer.",
    "tls": "Set the certificate authority with ?sslrootcert=FILE in the address, or verify less with ?sslmode=require.",
    "full": "Nothing is lost; delivery continues when there is space.",
}


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Raise errors of psycopg as StoreError."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise translate(name, error) from None


def translate(name: str, error: psycopg.Error) -> StoreError:
    code, message = error.sqlstate or "", _first_line(error)
    row: tuple[str, str, bool] | None = (
        next((k[1:] for k in _BY_SQLSTATE if code.startswith(k[0])), None) if code else None
    )
    if row is None and not code:
        row = next((w[1:] for w in _BY_MESSAGE if any(phrase in str(error) for phrase in w[0])), None)
    if row is None:
        is_away = not code or code.startswith(_UNAVAILABLE)
        row = ("unavailable", "does not answer", True) if is_away else ("other", "failed", False)
    kind, problem, retryable = row
    return StoreError(f"{name} {problem}: {message}.", kind, retryable, hint=_HINTS.get(kind, ""))


def missing_extra() -> StoreError:
    return StoreError(
        "PostgreSQL needs the package psycopg, which is not installed.",
        "extra",
        False,
        hint=install_hint("stores"),
    )


def _first_line(error: psycopg.Error) -> str:
    """Return the first line of the server's message, without details, which may repeat the data."""
    primary = error.diag.message_primary or str(error)
    lines = [line.strip() for line in primary.splitlines() if line.strip()]
    return _MESSAGE_PREFIX.sub("", lines[0] if lines else type(error).__name__).rstrip(".")[:300]
