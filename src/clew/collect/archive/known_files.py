"""The files of a root as the archive knows them, by path, held compactly: a poll needs all, but looks closely at few."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, MutableMapping
from typing import Any, NamedTuple

import apsw

from clew.collect.discovery import SourceState
from clew.collect.fingerprint import StoredPosition


class KnownFile(NamedTuple):
    """A file as the archive knows it."""

    id: int
    path: str
    kind: str
    project: str
    session: str
    agent: str
    state: SourceState
    trust: int
    scrubbed: int
    gone: int | None
    generation: int | None
    number: int
    is_stub: bool
    mark: StoredPosition


_KNOWN_FILES = """
SELECT f.id, f.path, f.kind, f.project, f.session, f.agent, f.dev, f.ino, f.size, f.mtime, f.ctime, f.trust, f.scrubbed,
  f.gone, f.generation, coalesce(g.number, 0), coalesce(g.is_stub, 0),
  coalesce(g.offset, 0), coalesce(g.lines, 0), coalesce(g.chain, x''), coalesce(g.head, x''), coalesce(g.tail, x'')
FROM file f LEFT JOIN generation g ON g.id = f.generation WHERE f.root = ?
"""


class KnownFiles(MutableMapping[str, KnownFile]):
    """Files by path. A row is kept as one value of bytes, less than half as large as its fields, until it is asked for."""

    def __init__(self, rows: apsw.Cursor) -> None:
        self._rows: dict[str, bytes] = {}
        row: Any
        for row in rows:
            self._rows[row[1]] = marshal.dumps((row[0], *row[2:]))

    def __getitem__(self, path: str) -> KnownFile:
        row = marshal.loads(self._rows[path])
        id, kind, project, session, agent = row[:5]
        trust, scrubbed, gone, generation, number, is_stub = row[10:16]
        state, mark = SourceState(*row[5:10]), StoredPosition(*row[16:])
        names = (id, path, kind, project, session, agent)
        return KnownFile(*names, state, trust, scrubbed, gone, generation, number, bool(is_stub), mark)

    def __setitem__(self, path: str, file: KnownFile) -> None:
        id, _, *names = file[:6]
        state, *numbers, mark = file[6:]
        self._rows[path] = marshal.dumps((id, *names, *state, *numbers, *mark))

    def __delitem__(self, path: str) -> None:
        del self._rows[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def known_files(connection: apsw.Connection, root: int) -> KnownFiles:
    """Return the files of a root, by path."""
    return KnownFiles(connection.execute(_KNOWN_FILES, (root,)))
