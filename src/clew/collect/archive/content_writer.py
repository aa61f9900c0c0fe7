"""Store contents once each, with the packs that they share."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, count, repeat
from typing import Any

import apsw

from clew.collect.archive.content_reader import ContentReader
from clew.collect.archive.packed_contents import PackedGroup, pack_contents, unpack_group
from clew.collect.archive.packing import ABSENT, SHARED, Packer
from clew.collect.masking import MaskedBytes

_KNOWN = "SELECT hash, id, packing, data, pack, start, size FROM content WHERE hash = ?"
_INSERT = """
INSERT INTO content(id, hash, size, rules, masked, packing, data, pack, start) VALUES(?,?,?,?,?,?,?,?,?)
ON CONFLICT(hash) DO NOTHING
""".strip()
_INSERT_PACK = "INSERT INTO pack VALUES(?,?,?,?)"


class ContentWriter:
    """Writes contents in the transaction of its caller."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.packer = Packer()
        self.written = 0
        """Bytes since the last commit."""
        self.repaired = 0

    def store(self, groups: Iterable[PackedGroup]) -> list[int]:
        """Store different contents unless they are known, and return their ids. A known one is compared, and replaced if
        it is damaged.
        """
        ids: list[int] = []
        id, pack = self._next_numbers()
        for group in groups:
            if self._insert(group, id, pack):
                ids.extend(range(id, id + len(group.hashes)))
                id, pack = id + len(group.hashes), pack + (len(group.hashes) > 1)
            else:
                known = self._store_unknown(group, id, pack)
                ids.extend(known[hash] for hash in group.hashes)
                id, pack = self._next_numbers()
        return ids

    def store_one(self, hash: bytes, content: MaskedBytes) -> int:
        """Store one content, outside of a pack."""
        [id] = self.store(pack_contents(self.packer, {hash: content}))
        return id

    def _store_unknown(self, group: PackedGroup, id: int, pack: int) -> dict[bytes, int]:
        """Store those contents of a group that are not known, and return the ids of all. The known ones are compared, and
        replaced if they are damaged.
        """
        contents = unpack_group(group)
        reader = ContentReader(self.connection)
        found: list[Any] = self.connection.executemany(_KNOWN, zip(group.hashes)).fetchall()
        ids = {}
        for hash, known, *stored in found:
            ids[hash] = int(known)
            content = contents.pop(hash)
            if stored[-1] != len(content.data) or reader.read(*stored) != content.data:
                self._replace(known, hash, content)
        for rest in pack_contents(self.packer, contents):
            self._insert(rest, id, pack)
            ids.update(zip(rest.hashes, count(id)))
            id, pack = id + len(rest.hashes), pack + 1
        return ids

    def _insert(self, group: PackedGroup, id: int, pack: int) -> bool:
        """Insert contents with consecutive ids. Insert nothing, and return False, if one of them is known."""
        length = len(group.hashes)
        columns = (range(id, id + length), *group[:4])
        before = self.connection.total_changes()
        if length == 1:  # it is packed in its row
            row = (column[0] for column in columns)
            self.connection.execute(_INSERT, (*row, group.packing, group.data, None, 0))
        else:
            starts = accumulate(group.sizes, initial=0)
            self.connection.executemany(_INSERT, zip(*columns, repeat(SHARED), repeat(None), repeat(pack), starts))
        if self.connection.total_changes() - before < length:
            self.connection.execute("DELETE FROM content WHERE id >= ?", (id,))
            return False
        if length > 1:
            self.connection.execute(_INSERT_PACK, (pack, sum(group.sizes), group.packing, group.data))
        self.written += len(group.data)
        return True

    def _next_numbers(self) -> tuple[int, int]:
        """Return the ids of the next content and of the next pack."""
        row: Any = self.connection.execute(
            "SELECT (SELECT max(id) FROM content), (SELECT max(id) FROM pack)"
        ).fetchone()
        content, pack = row
        return (content or 0) + 1, (pack or 0) + 1

    def find(self, hash: bytes) -> int | None:
        row: Any = self.connection.execute("SELECT id FROM content WHERE hash = ?", (hash,)).fetchone()
        return None if row is None else int(row[0])

    def add_absent(self, hash: bytes, size: int) -> int:
        """Store only the hash of a content that is too long."""
        self.connection.execute(
            "INSERT INTO content(hash, size, packing, rules, masked, data) VALUES(?,?,?,0,0,NULL)", (hash, size, ABSENT)
        )
        return self.connection.last_insert_rowid()

    def _replace(self, content: int, hash: bytes, masked: MaskedBytes) -> None:
        """Write a damaged content again, outside of its pack."""
        packing, data = self.packer.pack(masked.data)
        self.connection.execute(
            "UPDATE content SET hash = ?, size = ?, packing = ?, rules = ?, masked = ?, data = ?, pack = NULL, start = 0 "
            "WHERE id = ?",
            (hash, len(masked.data), packing, masked.rules, masked.masked, data, content),
        )
        self.written += len(data)
        self.repaired += 1

    def add_pack(self, whole: bytes) -> int:
        """Store the bytes of several contents, and return the id of the pack."""
        _, id = self._next_numbers()
        packing, data = self.packer.pack(whole)
        self.connection.execute(_INSERT_PACK, (id, len(whole), packing, data))
        self.written += len(data)
        return id
