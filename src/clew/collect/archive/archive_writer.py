"""Write everything that belongs to a poll, in transactions that contain rows and offsets together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import accumulate, repeat

import apsw

from clew.collect.archive.archive_schema import last_number, reserve_numbers
from clew.collect.archive.checksums import line_sum
from clew.collect.archive.content_writer import ContentWriter
from clew.collect.archive.erase import read_erased
from clew.collect.archive.known_files import KnownFile
from clew.collect.archive.packing import RAW
from clew.collect.discovery import SourceFile, SourceState
from clew.collect.fingerprint import ReadPosition, seal_position
from clew.collect.line_reader import LongLine
from clew.collect.masking import MaskedBytes, Policy
from clew.collect.prepared_lines import LinePreparer, PreparedLines, QuarantinedLine
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, read_at
from clew.errors import Stale

CHANGED, RACY, SETTLED = 0, 1, 2
"""Whether equal metadata proves that a file is unchanged: it changed during the read; just before it; neither."""

# Each of these writes the checksum of the generation as well.
_BEGIN_GENERATION = """
INSERT INTO generation(id, file, number, reason, began, chain, sum)
SELECT new.id, ?1, ?2, ?3, ?4, ?5, generation_sum(new.id, ?1, ?2, 0, 0, x'')
FROM (SELECT max(coalesce(max(id), 0) + 1, ?6) AS id FROM generation) new
"""
_SAVE_POSITION = """
UPDATE generation SET offset = ?1, lines = ?2, chain = ?3, head = ?4, tail = ?5, rest = x'',
  sum = generation_sum(id, file, number, ?1, ?2, x'') WHERE id = ?6
"""
_SAVE_UNFINISHED = """
UPDATE generation SET rest = ?1, mtime = ?2, sum = generation_sum(id, file, number, offset, lines, ?1) WHERE id = ?3
"""

_Place = tuple[int, int, int]  # the offset, number and length of a line


class ArchiveWriter:
    """Writes the result of a poll. `settle` commits a large transaction, `close` the last one."""

    def __init__(self, connection: apsw.Connection, key: bytes, policy: Policy, limits: ReadLimits) -> None:
        self.connection = connection
        self.key = key
        self.policy = policy
        self.limits = limits
        self.quarantined = 0
        self.preparer = LinePreparer(policy, read_erased(connection, "line"), limits)
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

    def begin_generation(self, file: int, number: int, reason: str, now: int, reserved: int) -> int:
        """Start a new generation of a file at offset 0, before any of its rows is written.

        Its id is the reserved one, unless there are later generations.
        """
        self._execute(_BEGIN_GENERATION, (file, number, reason, now, self.key, reserved))
        generation = self.connection.last_insert_rowid()
        self._execute("UPDATE file SET generation = ?, scrubbed = ? WHERE id = ?", (generation, now, file))
        return generation

    def next_generation(self) -> int:
        """Return the lowest id that no generation has, nor one after it."""
        return int(self.connection.execute("SELECT coalesce(max(id), 0) + 1 FROM generation").get)

    def save_position(self, generation: int, position: ReadPosition) -> None:
        self._execute(_SAVE_POSITION, (*seal_position(position, self.key), generation))

    def save_unfinished(self, generation: int, unfinished: bytes, mtime: int) -> None:
        stored = self.policy.withhold(unfinished, "unfinished").data if unfinished and self.policy.key else unfinished
        self._execute(_SAVE_UNFINISHED, (stored, mtime, generation))

    def mark_stub(self, generation: int) -> None:
        """Mark a generation as a stub: it is stored but not delivered."""
        self._execute("UPDATE generation SET is_stub = 1 WHERE id = ?", (generation,))

    def unmark_stub(self, generation: int) -> None:
        """Deliver a former stub after all: its line gets a new sequence number after all others."""
        self._execute("UPDATE generation SET is_stub = 0 WHERE id = ?", (generation,))
        seq = last_number(self.connection, "last_seq") + 1
        self._execute("UPDATE occurrence SET seq = ? WHERE generation = ?", (seq, generation))

    # -- contents

    def add_lines(self, generation: int, position: ReadPosition, lines: PreparedLines, sums: Sequence[int]) -> None:
        """Add lines after a position, with their checksums."""
        self._begin()
        ids = self.contents.store(lines.groups)
        if len(ids) < len(lines.stored):  # some lines are equal
            hashes = (hash for group in lines.groups for hash in group.hashes)
            id_of = dict(zip(hashes, ids, strict=True))
            ids = [id_of[hash] for hash in lines.stored]
        offsets = list(accumulate(lines.lengths[:-1], initial=position.offset))
        numbers = range(position.lines + 1, position.lines + 1 + len(offsets))
        self._insert(generation, offsets, numbers, lines.lengths, ids, sums)
        self.quarantine(generation, lines.quarantined)

    def add_document(self, generation: int, data: bytes) -> None:
        masked = self.preparer.without_erased(sha256(data).digest(), self.policy.mask_document(data))
        if masked.withheld:
            self.quarantine(generation, [QuarantinedLine(0, len(data), "withheld", masked.withheld)])
        self._add_content(generation, (0, 1, len(data)), masked)

    def add_long_line(self, generation: int, number: int, line: LongLine, file: File) -> None:
        """Add a line that is too long to hold in memory, copied as a stream and verified by its hash."""
        self._begin()
        size, place = line.length - 1, (line.offset, number, line.length)
        withheld = ""
        if self.policy.key is not None:
            masked = self.policy.withhold(line.hash, "it is too long to be looked through")
            withheld = masked.withheld
            self._add_content(generation, place, masked)
        elif size > self.limits.max_stored:
            withheld = "it is too long to be kept"
            content = self.contents.find(line.hash) or self.contents.add_absent(line.hash, size)
            self._insert_one(generation, place, content, line.hash)
        else:
            content = self.contents.find(line.hash) or self._store_stream(line, size, file)
            self._insert_one(generation, place, content, line.hash)
        if withheld:
            self.quarantine(generation, [QuarantinedLine(line.offset, line.length, "withheld", withheld)])

    def quarantine(self, generation: int, lines: Iterable[QuarantinedLine]) -> None:
        for line in lines:
            self.quarantined += 1
            self._execute("INSERT INTO quarantine VALUES(?,?,?,?,?,?)", (generation, *line))

    def _add_content(self, generation: int, place: _Place, masked: MaskedBytes) -> None:
        """Store one content and where it occurs."""
        self._begin()
        hash = sha256(masked.data).digest()
        self._insert_one(generation, place, self.contents.store_one(hash, masked), hash)

    def _insert_one(self, generation: int, place: _Place, content: int, hash: bytes) -> None:
        offset, number, length = place
        sum = line_sum(generation, offset, number, length, hash)
        self._insert(generation, [offset], [number], [length], [content], [sum])

    def _insert(
        self,
        generation: int,
        offsets: Sequence[int],
        numbers: Sequence[int],
        lengths: Sequence[int],
        contents: Sequence[int],
        sums: Sequence[int],
    ) -> None:
        """Add occurrences of contents by their ids, as columns. One that is read again keeps its number."""
        last = last_number(self.connection, "last_seq")
        seqs: Iterable[int] = range(last + 1, last + 1 + len(offsets))
        if self._cleared:
            seqs = [self._cleared.pop((generation, offset), new) for offset, new in zip(offsets, seqs, strict=False)]
        self.connection.executemany(
            "INSERT INTO occurrence(seq, generation, offset, number, length, content, sum) VALUES(?,?,?,?,?,?,?)",
            zip(seqs, repeat(generation), offsets, numbers, lengths, contents, sums),
        )

    def repair_line(self, generation: int, offset: int, hash: bytes, masked: MaskedBytes) -> None:
        """Store the content of a line again, and refer to it."""
        self._begin()
        content = self.contents.store_one(hash, masked)
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
