"""The archive for readers: what is in it, and every file as it was, byte for byte, in each of its generations."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import apsw

from clew.collect.archive.archive_schema import ABSENT, DEFLATED, open_to_read
from clew.collect.archive.sqlite_errors import explained
from clew.collect.discovery import is_replaced_kind
from clew.errors import Ambiguous, NotFound, StoreError
from clew.system.environment import data_home

_FILES = """
SELECT f.id, r.path, f.path, f.kind, f.project, f.session, f.agent, f.gone, g.id, g.number, g.reason, g.began,
  g.offset + length(g.rest), g.lines, g.mtime
FROM file f JOIN root r ON r.id = f.root JOIN generation g ON g.file = f.id
"""
_PARTS = """
SELECT c.packing, c.data, c.size, c.hash FROM occurrence o JOIN content c ON c.id = o.content
WHERE o.generation = ? ORDER BY o.offset
"""


def archive_path(given: str | os.PathLike[str] | None = None) -> str:
    """Where the archive lies: as given, else in the data folder."""
    if given is not None:
        return str(Path(given).expanduser().absolute())
    return os.path.join(data_home(), "archive", "archive.db")


class ArchivedFile(NamedTuple):
    """A generation of a file in the archive; the one with the highest number is how the file was seen last."""

    file: int
    root: str
    path: str
    kind: str
    project: str
    session: str
    agent: str
    gone: int | None
    generation: int
    number: int
    reason: str
    began: int
    size: int
    lines: int
    mtime: int

    @property
    def is_gone(self) -> bool:
        return self.gone is not None

    @property
    def gone_at(self) -> datetime | None:
        return datetime.fromtimestamp(self.gone / 1e9, UTC) if self.gone is not None else None

    @property
    def modified(self) -> datetime:
        return datetime.fromtimestamp(self.mtime / 1e9, UTC)


class Quarantined(NamedTuple):
    """A line that is not one JSON object, or that may not be kept."""

    path: str
    offset: int
    length: int
    kind: str
    reason: str


class Archive:
    """An archive that is only read; a collector may be at work on it."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None) -> Archive:
        """Raises FileNotFoundError if there is none."""
        where = archive_path(path)
        with explained(where):
            return cls(open_to_read(where))

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def host(self) -> str:
        """The name of this archive among others: made once, of chance alone."""
        return str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)

    def files(self, *, root: str | None = None, session: str | None = None) -> Iterator[ArchivedFile]:
        """Every file as it was seen last, by its path."""
        where, values = ["g.id = f.generation"], []
        for column, value in (("r.path", root), ("f.session", session)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        query = f"{_FILES} WHERE {' AND '.join(where)} ORDER BY f.root, f.path"
        yield from (ArchivedFile(*row) for row in self.connection.execute(query, values))

    def sessions(self, *, root: str | None = None) -> Iterator[ArchivedFile]:
        """Every session as it was seen last, also those whose files are gone; empty ones hold nothing."""
        yield from (file for file in self.files(root=root) if file.kind == "session" and file.size)

    def find(self, asked: str) -> ArchivedFile:
        """A session by its id or the beginning of it. Raises NotFound or Ambiguous."""
        beginning = asked.removesuffix(".jsonl").lower()
        found = [s for s in self.sessions() if beginning and s.session.lower().startswith(beginning)]
        if len(found) > 1 and len({s.session for s in found}) == 1:
            found = [s for s in found if not s.is_gone] or [max(found, key=lambda s: s.mtime)]
        if not found:
            missing = NotFound(asked, "archived session")
            missing.hint = "List what the archive keeps with: clew ls --archived"
            raise missing
        if len(found) > 1:
            names = sorted({s.session for s in found})
            raise Ambiguous(asked, names if len(names) > 1 else sorted(f"{s.root}/{s.path}" for s in found))
        return found[0]

    def belongings(self, session: ArchivedFile) -> Iterator[ArchivedFile]:
        """What belongs to a session: agents, long outputs, lists, saved states of files. Not the session itself."""
        own = self.files(root=session.root, session=session.session)
        yield from (file for file in own if file.file != session.file)

    def generations(self, file: ArchivedFile) -> list[ArchivedFile]:
        """All generations of a file, the oldest first."""
        query = f"{_FILES} WHERE f.id = ? ORDER BY g.number"
        return [ArchivedFile(*row) for row in self.connection.execute(query, (file.file,))]

    def parts(self, file: ArchivedFile) -> Iterator[bytes]:
        """The bytes of a generation, a line at a time. Raises StoreError for a line that was too long to be kept."""
        end = b"" if is_replaced_kind(file.kind) else b"\n"
        for packing, data, size, hash in self.connection.execute(_PARTS, (file.generation,)):
            if packing == ABSENT:
                raise StoreError(
                    f"A line of {size} bytes of {file.path} is not in the archive, only its hash {hash.hex()}.",
                    "absent",
                    False,
                )
            yield (zlib.decompress(data) if packing == DEFLATED else data) + end
        if rest := self.connection.execute("SELECT rest FROM generation WHERE id = ?", (file.generation,)).get:
            yield rest

    def read(self, file: ArchivedFile) -> bytes:
        """The bytes of a generation, as they stood in the file; `clew.Session` takes them."""
        return b"".join(self.parts(file))

    def quarantine(self) -> list[Quarantined]:
        """Every line that is damaged or was withheld."""
        query = """SELECT f.path, q.offset, q.length, q.kind, q.reason FROM quarantine q
          JOIN generation g ON g.id = q.generation JOIN file f ON f.id = g.file ORDER BY f.path, g.number, q.offset"""
        return [Quarantined(*row) for row in self.connection.execute(query)]
