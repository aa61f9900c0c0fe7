"""Writing to the archive: everything that belongs to a poll, in transactions that hold rows and offsets together."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import apsw

from clew.collect.archive.archive_schema import ABSENT, DEFLATED, RAW
from clew.collect.discovery import FileState, SourceFile
from clew.collect.fingerprint import ReadPosition, StoredPosition, seal_position
from clew.collect.line_reader import LongLine
from clew.collect.masking import MaskedBytes, Policy
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, read_at
from clew.errors import Stale

_SHORT = 256  # bytes that are not worth packing
_EASY = 1  # zlib's level: halves transcripts at 75 MB/s; level 6 gains 4 % at 55 (measured)

CHANGED, RACY, SETTLED = 0, 1, 2
"""How far the state of a file can be trusted: it changed while it was read; just before it was looked at; not so."""


class KnownFile(NamedTuple):
    """A file as the archive knows it."""

    id: int
    path: str
    kind: str
    project: str
    session: str
    agent: str
    state: FileState
    trust: int
    scrubbed: int
    gone: int | None
    generation: int | None
    number: int
    is_stub: bool
    mark: StoredPosition


class Trouble(NamedTuple):
    """A line that is not one JSON object, or that may not be kept: where, of what kind, why, and what was saved."""

    offset: int
    length: int
    kind: str
    reason: str
    salvaged: str = "[]"


_KNOWN = """
SELECT f.id, f.path, f.kind, f.project, f.session, f.agent, f.dev, f.ino, f.size, f.mtime, f.ctime, f.trust, f.scrubbed,
  f.gone, f.generation, coalesce(g.number, 0), coalesce(g.is_stub, 0),
  coalesce(g.offset, 0), coalesce(g.lines, 0), coalesce(g.chain, x''), coalesce(g.head, x''), coalesce(g.tail, x'')
FROM file f LEFT JOIN generation g ON g.id = f.generation WHERE f.root = ?
"""


def known_files(connection: apsw.Connection, root: int) -> dict[str, KnownFile]:
    rows = connection.execute(_KNOWN, (root,))
    return {row[1]: _known(*row) for row in rows}


def _known(*row: Any) -> KnownFile:
    id, path, kind, project, session, agent = row[:6]
    trust, scrubbed, gone, generation, number, is_stub = row[11:17]
    state, place = FileState(*row[6:11]), StoredPosition(*row[17:])
    return KnownFile(
        id, path, kind, project, session, agent, state, trust, scrubbed, gone, generation, number, bool(is_stub), place
    )


class ArchiveWriter:
    """Writes what a poll found; `settle` ends a transaction that has grown large, `close` the last one."""

    def __init__(self, connection: apsw.Connection, key: bytes, policy: Policy, limits: ReadLimits) -> None:
        self.connection = connection
        self.key = key
        self.policy = policy
        self.limits = limits
        self.troubles = 0
        self._written = 0

    def _begin(self) -> None:
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")

    def _do(self, statement: str, values: Sequence[int | str | bytes | None] = ()) -> apsw.Cursor:
        self._begin()
        return self.connection.execute(statement, values)

    def settle(self) -> None:
        if self._written >= self.limits.commit_bytes:
            self.close()

    def close(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("COMMIT")
        self._written = 0

    def undo(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    # -- files

    def add_file(self, root: int, found: SourceFile, now: int) -> int:
        names = (root, found.path, found.kind, found.project, found.session, found.agent, now, now)
        self._do(
            "INSERT INTO file(root, path, kind, project, session, agent, first_seen, scrubbed) VALUES(?,?,?,?,?,?,?,?)",
            names,
        )
        return self.connection.last_insert_rowid()

    def move_file(self, file: KnownFile, found: SourceFile, now: int) -> None:
        """The file goes on under another path; the old one is remembered."""
        self._do("INSERT INTO alias VALUES(?, ?, ?)", (file.id, file.path, now))
        self._do(
            "UPDATE file SET path = ?, project = ?, session = ?, agent = ?, gone = NULL WHERE id = ?",
            (found.path, found.project, found.session or file.session, found.agent, file.id),
        )

    def save_kind(self, file: KnownFile, found: SourceFile) -> KnownFile:
        """Correct the kind of a file that an earlier version took for another one."""
        self._do("UPDATE file SET kind = ?, session = ? WHERE id = ?", (found.kind, found.session, file.id))
        return file._replace(kind=found.kind, session=found.session)

    def save_state(self, file: int, state: FileState, trust: int) -> None:
        self._do(
            "UPDATE file SET dev=?, ino=?, size=?, mtime=?, ctime=?, trust=?, gone=NULL WHERE id=?",
            (*state, trust, file),
        )

    def save_scrub(self, file: int, now: int) -> None:
        self._do("UPDATE file SET scrubbed = ? WHERE id = ?", (now, file))

    def save_owner(self, file: int, session: str) -> None:
        self._do("UPDATE file SET session = ? WHERE id = ? AND session = ''", (session, file))

    def save_gone(self, files: Iterable[int], now: int) -> None:
        for file in files:
            self._do("UPDATE file SET gone = ? WHERE id = ?", (now, file))

    # -- generations

    def begin_generation(self, file: int, number: int, reason: str, now: int) -> int:
        """A new generation, and the file stands at its beginning, before any of its rows is written."""
        self._do(
            "INSERT INTO generation(file, number, reason, began, chain) VALUES(?,?,?,?,?)",
            (file, number, reason, now, self.key),
        )
        generation = self.connection.last_insert_rowid()
        self._do("UPDATE file SET generation = ?, scrubbed = ? WHERE id = ?", (generation, now, file))
        return generation

    def save_place(self, generation: int, place: ReadPosition) -> None:
        self._do(
            "UPDATE generation SET offset=?, lines=?, chain=?, head=?, tail=?, rest=x'' WHERE id=?",
            (*seal_position(place, self.key), generation),
        )

    def save_rest(self, generation: int, rest: bytes, mtime: int) -> None:
        kept = self.policy.withhold(rest, "unfinished").data if rest and self.policy.key else rest
        self._do("UPDATE generation SET rest = ?, mtime = ? WHERE id = ?", (kept, mtime, generation))

    def make_stub(self, generation: int) -> None:
        """A stub is kept and not delivered."""
        self._do("UPDATE generation SET is_stub = 1 WHERE id = ?", (generation,))

    def wake_stub(self, generation: int) -> None:
        """What was a stub goes on: its line is to be delivered after all, so it takes its turn anew."""
        self._do("UPDATE generation SET is_stub = 0 WHERE id = ?", (generation,))
        self._do(
            "UPDATE occurrence SET seq = (SELECT max(seq) + 1 FROM occurrence) WHERE generation = ?", (generation,)
        )

    # -- contents

    def add_lines(
        self,
        generation: int,
        place: ReadPosition,
        lines: Sequence[bytes],
        hashes: Sequence[bytes],
        bad: Sequence[Trouble],
    ) -> None:
        """Lines behind a place, given without their newlines; `hashes` are those of the lines as they stand there."""
        offset, number = place.offset, place.lines
        damaged = {trouble.offset: trouble for trouble in bad}
        rows = []
        for line, hash, kept in zip(lines, hashes, self._kept(lines, offset, damaged), strict=True):
            number += 1
            length = len(line) + 1
            if self.policy.key is None:
                content = self._content(hash, kept)
            else:
                if kept.withheld and offset not in damaged:
                    self.quarantine(generation, [Trouble(offset, length, "withheld", kept.withheld)])
                content = self._content(sha256(kept.data).digest(), kept)
            rows.append((generation, offset, number, length, content))
            offset += length
        self._occurrences(rows)
        self.quarantine(generation, bad)

    def _kept(self, lines: Sequence[bytes], offset: int, damaged: Mapping[int, Trouble]) -> Iterator[MaskedBytes]:
        """What may be kept of each line; with secrets masked, nothing of a damaged one."""
        if self.policy.key is None or not damaged:
            yield from self.policy.mask_lines(lines)
            return
        for line in lines:
            trouble = damaged.get(offset)
            yield self.policy.withhold(line, trouble.reason) if trouble else self.policy.mask_line(line)
            offset += len(line) + 1

    def add_whole(self, generation: int, data: bytes) -> None:
        kept = self.policy.mask_document(data)
        if kept.withheld:
            self.quarantine(generation, [Trouble(0, len(data), "withheld", kept.withheld)])
        content = self._content(sha256(kept.data).digest(), kept)
        self._occurrences([(generation, 0, 1, len(data), content)])

    def add_long(self, generation: int, number: int, line: LongLine, file: File) -> None:
        """A line that is too long to be held, copied as a stream and compared with what was measured."""
        size = line.length - 1
        kept = MaskedBytes(b"")
        if self.policy.key is not None:
            kept = self.policy.withhold(line.hash, "it is too long to be looked through")
            content = self._content(sha256(kept.data).digest(), kept)
        elif size > self.limits.max_stored:
            kept = MaskedBytes(b"", withheld="it is too long to be kept")
            content = self._find(line.hash) or self._row(line.hash, size, ABSENT, kept, None)
        else:
            content = self._find(line.hash) or self._stream(line, size, file)
        if kept.withheld:
            self.quarantine(generation, [Trouble(line.offset, line.length, "withheld", kept.withheld)])
        self._occurrences([(generation, line.offset, number, line.length, content)])

    def quarantine(self, generation: int, troubles: Iterable[Trouble]) -> None:
        for trouble in troubles:
            self.troubles += 1
            self._do("INSERT INTO quarantine VALUES(?,?,?,?,?,?)", (generation, *trouble))

    def _occurrences(self, rows: Sequence[tuple[int, int, int, int, int]]) -> None:
        self._begin()
        self.connection.executemany(
            "INSERT INTO occurrence(generation, offset, number, length, content) VALUES(?,?,?,?,?)", rows
        )

    def _content(self, hash: bytes, kept: MaskedBytes) -> int:
        found = self._find(hash)
        if found is not None:
            return found
        data, packing = kept.data, RAW
        if len(data) >= _SHORT and len(packed := zlib.compress(data, _EASY)) < len(data):
            data, packing = packed, DEFLATED
        return self._row(hash, len(kept.data), packing, kept, data)

    def _find(self, hash: bytes) -> int | None:
        found = self._do("SELECT id FROM content WHERE hash = ?", (hash,)).fetchone()
        return None if found is None else int(found[0])

    def _row(self, hash: bytes, size: int, packing: int, kept: MaskedBytes, data: bytes | None) -> int:
        self._written += len(data or b"")
        self._do(
            "INSERT INTO content(hash, size, packing, rules, masked, data) VALUES(?,?,?,?,?,?)",
            (hash, size, packing, kept.rules, kept.masked, data),
        )
        return self.connection.last_insert_rowid()

    def _stream(self, line: LongLine, size: int, file: File) -> int:
        """Undone as a whole if the file changed under the copy."""
        self._do("SAVEPOINT stream")
        is_whole = False
        try:
            statement = "INSERT INTO content(hash, size, packing, rules, masked, data) VALUES(?,?,?,0,0,zeroblob(?))"
            self._do(statement, (line.hash, size, RAW, size))
            row = self.connection.last_insert_rowid()
            is_whole = self._copy(line, size, file, row) == line.hash
        finally:
            self._do("RELEASE stream" if is_whole else "ROLLBACK TO stream")
        if not is_whole:
            raise Stale(str(file.name))
        self._written += size
        return row

    def _copy(self, line: LongLine, size: int, file: File, row: int) -> bytes:
        hash, at = sha256(), 0
        with self.connection.blob_open("main", "content", "data", row, True) as blob:
            while at < size and (block := read_at(file, min(self.limits.block, size - at), line.offset + at)):
                blob.write(block)
                hash.update(block)
                at += len(block)
        return hash.digest()
