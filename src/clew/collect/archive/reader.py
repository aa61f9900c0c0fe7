"""Read an archive: list its files, and return each generation byte for byte."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from clew.collect.archive.archive_schema import open_read_only
from clew.collect.archive.checksums import damaged_error, generation_sum
from clew.collect.archive.content_reader import CONTENT, ContentReader
from clew.collect.archive.packing import ABSENT
from clew.collect.archive.sqlite_errors import translate_errors
from clew.collect.discovery import is_replaced_kind
from clew.errors import Ambiguous, NotFound, StoreError
from clew.system.environment import data_home

_FILES = """
SELECT f.id, r.path, f.path, f.kind, f.project, f.session, f.agent, f.gone, g.id, g.number, g.reason, g.began,
  g.offset + length(g.rest), g.lines, g.mtime
FROM file f JOIN root r ON r.id = f.root JOIN generation g ON g.file = f.id
"""
_CONTENTS = f"""
SELECT o.generation, o.offset, o.number, o.length, o.sum, c.rules, {CONTENT}
FROM occurrence o LEFT JOIN content c ON c.id = o.content WHERE o.generation = ? ORDER BY o.offset
"""
_GENERATION = "SELECT id, file, number, offset, lines, rest, sum FROM generation WHERE id = ?"


def archive_path(path: str | os.PathLike[str] | None = None) -> str:
    """Return the path of the archive: the given one, else the default in the data folder."""
    if path is not None:
        return str(Path(path).expanduser().absolute())
    return os.path.join(data_home(), "archive", "archive.db")


class ArchivedFile(NamedTuple):
    """A generation of a file in the archive; the one with the highest number is the newest known state."""

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
    def modified(self) -> datetime:
        return datetime.fromtimestamp(self.mtime / 1e9, UTC)


class Quarantined(NamedTuple):
    """A line that is not one JSON object, or that may not be stored."""

    path: str
    offset: int
    length: int
    kind: str
    reason: str


class Archive:
    """A read-only archive; a collector may write to it at the same time."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None) -> Archive:
        """Open an archive. Raises FileNotFoundError if there is none."""
        location = archive_path(path)
        with translate_errors(location):
            return cls(open_read_only(location))

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def host(self) -> str:
        """The random name of this archive among others, created once."""
        return str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)

    def files(self, *, root: str | None = None, session: str | None = None) -> Iterator[ArchivedFile]:
        """Yield the newest generation of every file, by path."""
        where, values = ["g.id = f.generation"], []
        for column, value in (("r.path", root), ("f.session", session)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        query = f"{_FILES} WHERE {' AND '.join(where)} ORDER BY f.root, f.path"
        yield from (ArchivedFile(*row) for row in self.connection.execute(query, values))

    def sessions(self, *, root: str | None = None) -> Iterator[ArchivedFile]:
        """Yield the newest generation of every session, including deleted ones, but not empty ones."""
        yield from (file for file in self.files(root=root) if file.kind == "session" and file.size)

    def find(self, session_id: str, root: str | None = None) -> ArchivedFile:
        """Find a session by its id or the beginning of it; the one of `root` if several folders have it.

        Raises NotFound or Ambiguous.
        """
        beginning = session_id.removesuffix(".jsonl").lower()
        matches = [s for s in self.sessions() if beginning and s.session.lower().startswith(beginning)]
        if len(matches) > 1 and root is not None:
            matches = [s for s in matches if s.root == root] or matches
        if len(matches) > 1 and len({s.session for s in matches}) == 1:
            matches = [s for s in matches if not s.is_gone] or [max(matches, key=lambda s: s.mtime)]
        if not matches:
            raise NotFound(session_id, "archived session", hint="List the archived sessions with: clew ls --archived")
        if len(matches) > 1:
            names = sorted({s.session for s in matches})
            if len(names) > 1:
                raise Ambiguous(session_id, names)
            roots = sorted({s.root for s in matches})
            projects = ", ".join(sorted({s.project for s in matches}))
            hint = f"It is in several projects. Name one with --project: {projects}"
            if len(roots) > 1:
                hint = f"Name the folder that it was in with --claude-dir: {', '.join(roots)}"
            raise Ambiguous(session_id, sorted(f"{s.root}/{s.path}" for s in matches), hint=hint)
        return matches[0]

    def belongings(self, session: ArchivedFile) -> Iterator[ArchivedFile]:
        """Yield the side files of a session: agents, long outputs, todo lists, file backups."""
        files = self.files(root=session.root, session=session.session)
        others = (file for file in files if file.file != session.file)
        yield from (file for file in others if file.project in ("", session.project))  # it can be moved since

    def generations(self, file: ArchivedFile) -> list[ArchivedFile]:
        """Return all generations of a file, oldest first."""
        query = f"{_FILES} WHERE f.id = ? ORDER BY g.number"
        return [ArchivedFile(*row) for row in self.connection.execute(query, (file.file,))]

    def generation(self, number: int) -> ArchivedFile | None:
        """Return a generation by its number in the archive; None if there is none."""
        row = self.connection.execute(f"{_FILES} WHERE g.id = ?", (number,)).fetchone()
        return ArchivedFile(*row) if row else None

    def parts(self, file: ArchivedFile, damage: list[int] | None = None) -> Iterator[bytes]:
        """Yield the bytes of a generation line by line, each verified.

        Raises StoreError for a line that is damaged or was too long to be stored, or that is missing. With a list
        `damage`, such lines are left out and their numbers are added to it.
        """
        # A cursor that is not at its end holds a snapshot, so that a writer changes nothing between the two queries.
        with closing(self.connection.execute(_GENERATION, (file.generation,))) as snapshot:
            generation: Any = snapshot.fetchone()
            last = yield from self._lines(file, damage)
            is_sound = generation is not None and generation[3] == last
            if is_sound and generation[6] in (None, generation_sum(*generation[:6])):
                yield from filter(None, (generation[5],))
            elif damage is None:
                raise damaged_error(file.path, file.lines + 1)
            else:
                damage.append(file.lines + 1)

    def _lines(self, file: ArchivedFile, damage: list[int] | None) -> Generator[bytes, None, int]:
        """Yield the complete lines of a generation, and return where they end."""
        end = b"" if is_replaced_kind(file.kind) else b"\n"
        last = 0
        reader = ContentReader(self.connection)
        row: Any
        for row in self.connection.execute(_CONTENTS, (file.generation,)):
            offset, number, length, _, rules, packing, _, _, _, size, hash = row[1:]
            raw, is_sound = reader.read_line(row[:5], row[6:])
            is_sound = is_sound and offset == last and (bool(rules) or abs(length - size - len(end)) != 1)
            last = offset + length if is_sound else last
            if is_sound and raw is not None:
                yield raw + end
            elif is_sound and packing == ABSENT and damage is None:
                text = f"A line of {size} bytes of {file.path} is not in the archive, only its hash {hash.hex()}."
                raise StoreError(text, "absent", False)
            elif damage is None:
                raise damaged_error(file.path, number)
            else:
                damage.append(number)
                last = offset + length
        return last

    def read(self, file: ArchivedFile, damage: list[int] | None = None) -> bytes:
        """Return the bytes of a generation; `clew.Session` accepts them."""
        return b"".join(self.parts(file, damage))

    def quarantine(self) -> list[Quarantined]:
        """Return every line that is damaged or was withheld."""
        query = """SELECT f.path, q.offset, q.length, q.kind, q.reason FROM quarantine q
          JOIN generation g ON g.id = q.generation JOIN file f ON f.id = g.file ORDER BY f.path, g.number, q.offset"""
        return [Quarantined(*row) for row in self.connection.execute(query)]
