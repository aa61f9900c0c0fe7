"""Write everything that belongs to a poll, in transactions that contain rows and offsets together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, count, repeat
from typing import NamedTuple

import apsw

from clew.collect.archive.archive_schema import last_number, reserve_numbers
from clew.collect.archive.checksums import line_sum
from clew.collect.archive.content_writer import ContentWriter
from clew.collect.archive.erase import ERASED, read_erased
from clew.collect.archive.known_files import KnownFile
from clew.collect.archive.packing import RAW
from clew.collect.discovery import SourceFile, SourceState
from clew.collect.fingerprint import ReadPosition, seal_position
from clew.collect.line_reader import LongLine
from clew.collect.masking import MaskedBytes, Policy
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, read_at
from clew.errors import Stale

CHANGED, RACY, SETTLED = 0, 1, 2
"""Whether equal metadata proves that a file is unchanged: it changed during the read; just before it; neither."""

_Place = tuple[int, int, int, int]  # the generation, offset, number and length of a line


class QuarantinedLine(NamedTuple):
    """A line that is not one JSON object, or that may not be stored: its position, kind, reason and what was
    salvaged.
    """

    offset: int
    length: int
    kind: str
    reason: str
    salvaged: str = "[]"


class ArchiveWriter:
    """Writes the result of a poll. `settle` commits a large transaction, `close` the last one."""

    def __init__(self, connection: apsw.Connection, key: bytes, policy: Policy, limits: ReadLimits) -> None:
        self.connection = connection
        self.key = key
        self.policy = policy
        self.limits = limits
        self.quarantined = 0
        self.erased = read_erased(connection, "line")
        self.contents = ContentWriter(connection)
        self._rebuilt = 0
        self._cleared: dict[tuple[int, int], int] = {}  # numbers of lines by generation and offset

    def _begin(self) -> None:
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")

    def _execute(self, statement: str, values: Sequence[int | str | bytes | None] = ()) -> apsw.Cursor:
        self._begin()
        return self.connection.execute(statement, values)

    @property
    def repaired(self) -> int:
        """How many contents and generations were written again since the last commit."""
        return self.contents.repaired + self._rebuilt

    def settle(self) -> None:
        if self.contents.written >= self.limits.commit_bytes:
            self.close()

    def close(self) -> None:
        if self.repaired:  # facts that were built without damaged lines are built and sent again
            self._execute(
                "INSERT INTO about VALUES('repairs', ?) ON CONFLICT(name) DO UPDATE SET value = value + excluded.value",
                (str(self.repaired),),
            )
            self._execute("UPDATE sink SET seq = 0 WHERE name LIKE '%#facts'")
            self.contents.repaired = self._rebuilt = 0
        if self.connection.in_transaction:
            self.connection.execute("COMMIT")
        self.contents.written = 0

    def undo(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    # -- files

    def add_file(self, root: int, source: SourceFile, now: int) -> int:
        self._begin()
        id = last_number(self.connection, "last_file") + 1
        self._execute(
            "INSERT INTO file(id, root, path, kind, project, session, agent, first_seen, scrubbed) "
            "VALUES(?,?,?,?,?,?,?,?,?)",
            (id, root, source.path, source.kind, source.project, source.session, source.agent, now, now),
        )
        return id

    def move_file(self, file: KnownFile, source: SourceFile, now: int) -> None:
        """Continue the file under another path, and store the old path as an alias."""
        self._execute("INSERT INTO alias VALUES(?, ?, ?)", (file.id, file.path, now))
        self._execute(
            "UPDATE file SET path = ?, project = ?, session = ?, agent = ?, gone = NULL WHERE id = ?",
            (source.path, source.project, source.session or file.session, source.agent, file.id),
        )
        self._execute(  # facts contain the path: they are sent again
            "UPDATE sink SET seq = min(seq, (SELECT coalesce(max(seq), 1) - 1 FROM occurrence WHERE generation = ?)) "
            "WHERE name LIKE '%#facts'",
            (file.generation,),
        )

    def save_kind(self, file: KnownFile, source: SourceFile) -> KnownFile:
        """Correct the kind of a file that an earlier version classified differently."""
        self._execute("UPDATE file SET kind = ?, session = ? WHERE id = ?", (source.kind, source.session, file.id))
        return file._replace(kind=source.kind, session=source.session)

    def save_state(self, file: int, state: SourceState, trust: int) -> None:
        self._execute(
            "UPDATE file SET dev=?, ino=?, size=?, mtime=?, ctime=?, trust=?, gone=NULL WHERE id=?",
            (*state, trust, file),
        )

    def save_scrub(self, file: int, now: int) -> None:
        self._execute("UPDATE file SET scrubbed = ? WHERE id = ?", (now, file))

    def save_owner(self, file: int, session: str) -> None:
        self._execute("UPDATE file SET session = ? WHERE id = ? AND session = ''", (session, file))

    def save_deleted(self, files: Iterable[int], now: int) -> None:
        for file in files:
            self._execute("UPDATE file SET gone = ? WHERE id = ?", (now, file))

    # -- generations

    def begin_generation(self, file: int, number: int, reason: str, now: int) -> int:
        """Start a new generation of a file at offset 0, before any of its rows is written."""
        self._execute(
            "INSERT INTO generation(file, number, reason, began, chain) VALUES(?,?,?,?,?)",
            (file, number, reason, now, self.key),
        )
        generation = self.connection.last_insert_rowid()
        self._seal(generation)
        self._execute("UPDATE file SET generation = ?, scrubbed = ? WHERE id = ?", (generation, now, file))
        return generation

    def save_position(self, generation: int, position: ReadPosition) -> None:
        self._execute(
            "UPDATE generation SET offset=?, lines=?, chain=?, head=?, tail=?, rest=x'' WHERE id=?",
            (*seal_position(position, self.key), generation),
        )
        self._seal(generation)

    def _seal(self, generation: int) -> None:
        """Write the checksum of a generation after a change."""
        sum = "generation_sum(id, file, number, offset, lines, rest)"
        self._execute(f"UPDATE generation SET sum = {sum} WHERE id = ?", (generation,))

    def save_unfinished(self, generation: int, unfinished: bytes, mtime: int) -> None:
        stored = self.policy.withhold(unfinished, "unfinished").data if unfinished and self.policy.key else unfinished
        self._execute("UPDATE generation SET rest = ?, mtime = ? WHERE id = ?", (stored, mtime, generation))
        self._seal(generation)

    def mark_stub(self, generation: int) -> None:
        """Mark a generation as a stub: it is stored but not delivered."""
        self._execute("UPDATE generation SET is_stub = 1 WHERE id = ?", (generation,))

    def unmark_stub(self, generation: int) -> None:
        """Deliver a former stub after all: its line gets a new sequence number after all others."""
        self._execute("UPDATE generation SET is_stub = 0 WHERE id = ?", (generation,))
        seq = last_number(self.connection, "last_seq") + 1
        self._execute("UPDATE occurrence SET seq = ? WHERE generation = ?", (seq, generation))

    # -- contents

    def add_lines(
        self,
        generation: int,
        position: ReadPosition,
        lines: Sequence[bytes],
        hashes: Sequence[bytes],
        damage: Sequence[QuarantinedLine],
    ) -> None:
        """Add lines, without their newlines, after a position; `hashes` are those of the unmasked lines."""
        self._begin()
        damaged = {line_damage.offset: line_damage for line_damage in damage}
        contents = list(self._mask_lines(lines, position.offset, damaged))
        if self.policy.key is not None or self.erased:
            contents = [self._without_erased(*pair) for pair in zip(hashes, contents, strict=True)]
            hashes = [
                hash if content.data is line else sha256(content.data).digest()
                for hash, content, line in zip(hashes, contents, lines, strict=True)
            ]
        lengths = [len(line) + 1 for line in lines]
        offsets = accumulate(lengths, initial=position.offset)
        places = list(zip(repeat(generation), offsets, count(position.lines + 1), lengths))
        self._add_occurrences(places, hashes, contents)
        if self.policy.key is not None:
            for (_, offset, _, length), content in zip(places, contents, strict=True):
                if content.withheld and offset not in damaged:
                    self.quarantine(generation, [QuarantinedLine(offset, length, "withheld", content.withheld)])
        self.quarantine(generation, damage)

    def _without_erased(self, hash: bytes, masked: MaskedBytes) -> MaskedBytes:
        """Return a mark instead of a line that was erased; `hash` is that of the line itself."""
        if self.erased and (hash.hex() in self.erased or sha256(masked.data).hexdigest() in self.erased):
            return MaskedBytes(ERASED, 1, 1)
        return masked

    def _mask_lines(
        self, lines: Sequence[bytes], offset: int, damaged: Mapping[int, QuarantinedLine]
    ) -> Iterator[MaskedBytes]:
        """Yield what may be stored of each line; if secrets are masked, nothing of a damaged one."""
        if self.policy.key is None or not damaged:
            yield from self.policy.mask_lines(lines)
            return
        for line in lines:
            line_damage = damaged.get(offset)
            yield self.policy.withhold(line, line_damage.reason) if line_damage else self.policy.mask_line(line)
            offset += len(line) + 1

    def add_document(self, generation: int, data: bytes) -> None:
        masked = self._without_erased(sha256(data).digest(), self.policy.mask_document(data))
        if masked.withheld:
            self.quarantine(generation, [QuarantinedLine(0, len(data), "withheld", masked.withheld)])
        self._add_occurrences([(generation, 0, 1, len(data))], [sha256(masked.data).digest()], [masked])

    def add_long_line(self, generation: int, number: int, line: LongLine, file: File) -> None:
        """Add a line that is too long to hold in memory, copied as a stream and verified by its hash."""
        self._begin()
        size, place = line.length - 1, (generation, line.offset, number, line.length)
        withheld = ""
        if self.policy.key is not None:
            masked = self.policy.withhold(line.hash, "it is too long to be looked through")
            withheld = masked.withheld
            self._add_occurrences([place], [sha256(masked.data).digest()], [masked])
        elif size > self.limits.max_stored:
            withheld = "it is too long to be kept"
            self._insert(
                [place], [self.contents.find(line.hash) or self.contents.add_absent(line.hash, size)], [line.hash]
            )
        else:
            content = self.contents.find(line.hash) or self._store_stream(line, size, file)
            self._insert([place], [content], [line.hash])
        if withheld:
            self.quarantine(generation, [QuarantinedLine(line.offset, line.length, "withheld", withheld)])

    def quarantine(self, generation: int, lines: Iterable[QuarantinedLine]) -> None:
        for line in lines:
            self.quarantined += 1
            self._execute("INSERT INTO quarantine VALUES(?,?,?,?,?,?)", (generation, *line))

    def _add_occurrences(
        self, places: Sequence[_Place], hashes: Sequence[bytes], contents: Sequence[MaskedBytes]
    ) -> None:
        """Store contents and where they occur."""
        self._begin()
        self._insert(places, self.contents.store(hashes, contents), hashes)

    def _insert(self, places: Sequence[_Place], contents: Sequence[int], hashes: Sequence[bytes]) -> None:
        """Add occurrences of contents by their ids. One that is read again keeps its number."""
        last = last_number(self.connection, "last_seq")
        new = range(last + 1, last + 1 + len(places))
        numbers = map(self._take_number, places, new) if self._cleared else new
        self.connection.executemany(
            "INSERT INTO occurrence(seq, generation, offset, number, length, content, sum) VALUES(?,?,?,?,?,?,?)",
            [
                (seq, *place, content, line_sum(*place, hash))
                for seq, place, content, hash in zip(numbers, places, contents, hashes, strict=True)
            ],
        )

    def _take_number(self, place: _Place, new: int) -> int:
        return self._cleared.pop(place[:2], new)

    def repair_line(self, generation: int, offset: int, hash: bytes, masked: MaskedBytes) -> None:
        """Store the content of a line again, and refer to it."""
        self._begin()
        [content] = self.contents.store([hash], [masked])
        self._execute(
            "UPDATE occurrence SET content = ? WHERE generation = ? AND offset = ?", (content, generation, offset)
        )
        self._rebuilt += 1

    def clear_generation(self, generation: int) -> None:
        """Remove the lines of a generation before they are read again."""
        self._begin()
        reserve_numbers(self.connection)
        kept = self._execute("SELECT generation, offset, seq FROM occurrence WHERE generation = ?", (generation,))
        self._cleared = {(int(row[0]), int(row[1])): int(row[2]) for row in kept}
        for table in ("occurrence", "quarantine"):
            self._execute(f"DELETE FROM {table} WHERE generation = ?", (generation,))
        self._rebuilt += 1

    def _store_stream(self, line: LongLine, size: int, file: File) -> int:
        """Copy a long line into the archive. Raises Stale, and undoes the copy, if the file changed meanwhile."""
        self._execute("SAVEPOINT stream")
        is_complete = False
        try:
            statement = "INSERT INTO content(hash, size, packing, rules, masked, data) VALUES(?,?,?,0,0,zeroblob(?))"
            self._execute(statement, (line.hash, size, RAW, size))
            row = self.connection.last_insert_rowid()
            is_complete = self._copy(line, size, file, row) == line.hash
        finally:
            self._execute("RELEASE stream" if is_complete else "ROLLBACK TO stream")
        if not is_complete:
            raise Stale(str(file.name))
        self.contents.written += size
        return row

    def _copy(self, line: LongLine, size: int, file: File, row: int) -> bytes:
        hash, at = sha256(), 0
        with self.connection.blob_open("main", "content", "data", row, True) as blob:
            while at < size and (block := read_at(file, min(self.limits.block, size - at), line.offset + at)):
                blob.write(block)
                hash.update(block)
                at += len(block)
        return hash.digest()
