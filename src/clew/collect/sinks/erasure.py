"""What is erased from a store, and the hashes by which a store remembers it.

A store keeps hashes, not names or texts: they block the same rows when a host sends them again, and contain nothing of
what was erased.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import NamedTuple, Protocol

from clew.collect.archive.erase import text_variants
from clew.collect.masking import ERASED
from clew.collect.sql.fact_tables import CALL, FILE, GIT, REPLY, TURN
from clew.errors import NotFound, Refused

ERASED_TEXT = ERASED.decode()
LABEL_COLUMNS = ("path", "project", "branch")
"""Columns that may contain a text and are not changed: rows are found by them."""
ROW_NAMES = {
    FILE.name: ("session", "agent"),
    TURN.name: ("session", "agent", "turn"),
    REPLY.name: ("reply",),
    CALL.name: ("call",),
    GIT.name: ("name",),
}
"""The columns that identify a row of facts on every host, to remember that a text was erased from it."""


class Erasure(NamedTuple):
    """What to erase: everything of developers, hosts (names of archives), projects and sessions, and a text everywhere."""

    developers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    text: str = ""

    @property
    def hashes(self) -> list[str]:
        """Return what the store remembers, except for the text, whose rows are remembered one by one."""
        names = (
            ("developer", self.developers),
            ("host", self.hosts),
            ("project", self.projects),
            ("session", self.sessions),
        )
        return [remembered_hash(kind, value) for kind, values in names for value in values]


class ErasedRows(NamedTuple):
    """The rows of a table that were deleted, and those of which a text was erased."""

    table: str
    deleted: int
    changed: int


class ErasureResult(NamedTuple):
    """The rows that were erased by table, and the rows of which a label (project, path, branch) contains the text."""

    rows: list[ErasedRows]
    labels: int = 0

    @property
    def total(self) -> int:
        return sum(each.deleted + each.changed for each in self.rows)


class StoreEraser(Protocol):
    """Erases from one store."""

    name: str

    def find(self, developer: str, host: str, project: str, session: str, text: str) -> Erasure:
        """Return what to erase for names that a user gave: the beginning of a session id, a part of a project."""

    def erase(self, erasure: Erasure, *, dry_run: bool) -> ErasureResult: ...

    def scrub(self, *, now: bool) -> str:
        """Remove deleted rows from the files of the store. Returns a sentence that says when they are gone."""

    def close(self) -> None: ...


def remembered_hash(kind: str, *names: object) -> str:
    """Return the hash of a name, as hexadecimal digits. `blocked_rows` computes the same in SQL."""
    return sha256(f"{kind}:{'/'.join(str(name) for name in names)}".encode()).hexdigest()


def erase_text(value: str, text: str) -> str:
    """Return a value without a text, in any of its forms."""
    for variant in text_variants(text):
        value = value.replace(variant.decode("utf-8", "surrogateescape"), ERASED_TEXT)
    return value


def erase_bytes(raw: bytes, variants: Sequence[bytes]) -> bytes:
    """Return a line without a text, given in its forms."""
    for variant in variants:
        raw = raw.replace(variant, ERASED)
    return raw


def choose_names(
    query: str, names: Collection[str], what: str, *, exact: bool = False, prefix: bool = False
) -> tuple[str, ...]:
    """Return the names that a user means: that name, else the one that begins with it, or all that contain it.

    Raises NotFound if there is none, and Refused if a prefix is ambiguous. Without a query nothing is meant.
    """
    if not query:
        return ()
    if query in names:
        return (query,)
    part = query.lower() if exact or prefix else query.lower().replace("/", "-")
    found = sorted(
        name for name in names if not exact and (name.lower().startswith(part) if prefix else part in name.lower())
    )
    if not found:
        raise NotFound(query, what)
    if prefix and len(found) > 1:
        raise Refused([f"{query} is the beginning of {len(found)} {what}s; write more of it"])
    return tuple(found)
