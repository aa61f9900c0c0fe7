"""Store contents once each, with the packs that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, count, repeat
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

_Row = tuple[int | bytes | None, ...]
_Pack = tuple[int, int, int, bytes]  # its id, size, packing and bytes


class ContentWriter:
    """Writes contents in the transaction of its caller."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.packer = Packer()
        self.written = 0
        """Bytes since the last commit."""
        self.repaired = 0

    def store(self, groups: Sequence[PackedGroup]) -> Sequence[int]:
        """Store different contents unless they are known, and return their ids. A known one is compared, and replaced if
        it is damaged.
        """
        first = self._next_number("content")
        number = sum(len(group.hashes) for group in groups)
        if self._insert(groups, number, first):
            return range(first, first + number)
        hashes = [hash for group in groups for hash in group.hashes]
        found: list[Any] = self.connection.executemany(_KNOWN, zip(hashes)).fetchall()
        known = {row[0]: row[1:] for row in found}
        reader = ContentReader(self.connection)
        new = [each for group in groups for each in self._without_known(group, known, reader)]
        ids = {hash: int(row[0]) for hash, row in known.items()}
        ids.update(zip((hash for group in new for hash in group.hashes), count(first)))
        self._insert(new, len(ids) - len(known), first)
        return [ids[hash] for hash in hashes]

    def store_one(self, hash: bytes, content: MaskedBytes) -> int:
        """Store one content, outside of a pack."""
        [id] = self.store(pack_contents(self.packer, {hash: content}))
        return id

    def _without_known(
        self, group: PackedGroup, known: Mapping[bytes, Sequence[Any]], reader: ContentReader
    ) -> list[PackedGroup]:
        """Return a group without the contents that are known. These are compared, and replaced if they are damaged."""
        if known.keys().isdisjoint(group.hashes):
            return [group]
        contents = unpack_group(group)
        for hash in known.keys() & contents.keys():
            content = contents.pop(hash)
            id, *stored = known[hash]
            if stored[-1] != len(content.data) or reader.read(*stored) != content.data:
                self._replace(id, hash, content)
        return pack_contents(self.packer, contents)

    def _insert(self, groups: Sequence[PackedGroup], number: int, first: int) -> bool:
        """Insert contents with consecutive ids. Insert nothing, and return False, if one of them is known."""
        rows: list[Iterable[_Row]] = []
        packs: list[_Pack] = []
        pack = self._next_number("pack") if any(len(group.hashes) > 1 for group in groups) else 0
        id = first
        for group in groups:
            length = len(group.hashes)
            columns = (range(id, id + length), *group[:4])
            if length == 1:  # it is packed in its row
                rows.append(zip(*columns, (group.packing,), (group.data,), (None,), (0,), strict=True))
            else:
                *starts, size = accumulate(group.sizes, initial=0)
                rows.append(zip(*columns, repeat(SHARED), repeat(None), repeat(pack), starts))
                packs.append((pack, size, group.packing, group.data))
                pack += 1
            id += length
        before = self.connection.total_changes()
        self.connection.executemany(_INSERT, chain.from_iterable(rows))
        if self.connection.total_changes() - before < number:
            self.connection.execute("DELETE FROM content WHERE id >= ?", (first,))
            return False
        self.connection.executemany(_INSERT_PACK, packs)
        self.written += sum(len(group.data) for group in groups)
        return True

    def _next_number(self, table: str) -> int:
        return int(self.connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").get) + 1

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
        id = self._next_number("pack")
        packing, data = self.packer.pack(whole)
        self.connection.execute(_INSERT_PACK, (id, len(whole), packing, data))
        self.written += len(data)
        return id
