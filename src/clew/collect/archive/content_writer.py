"""Store contents once each: those of one call share packs, so that what repeats from line to line is packed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import apsw

from clew.collect.archive.content_reader import ContentReader
from clew.collect.archive.packing import ABSENT, SHARED, Packer
from clew.collect.masking import MaskedBytes

PACK_BYTES = 128 << 10
"""Of contents in one pack. Reading one content unpacks all of them, and a damaged pack damages all of them."""
_KNOWN = "SELECT hash, id, packing, data, pack, start, size FROM content WHERE hash = ?"
_INSERT = """
INSERT INTO content(id, hash, size, packing, rules, masked, data, pack, start) VALUES(?,?,?,?,?,?,?,?,?)
ON CONFLICT(hash) DO NOTHING
""".strip()

_Contents = Mapping[bytes, MaskedBytes]  # by their hashes
_Row = tuple[int | bytes | None, ...]


class ContentWriter:
    """Writes contents in the transaction of its caller."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.packer = Packer()
        self.written = 0
        """Bytes since the last commit."""
        self.repaired = 0

    def store(self, hashes: Sequence[bytes], contents: Sequence[MaskedBytes]) -> list[int]:
        """Store contents unless they are known, and return their ids. A known one is compared, and replaced if it is
        damaged.
        """
        unique = dict(zip(hashes, contents, strict=True))
        first = self._next_number("content")
        ids = dict(zip(unique, count(first)))
        if not self._insert(unique, first):
            ids = self._find_known(unique)
            new = {hash: content for hash, content in unique.items() if hash not in ids}
            self._insert(new, first)
            ids.update(zip(new, count(first)))
        return [ids[hash] for hash in hashes]

    def _insert(self, contents: _Contents, first: int) -> bool:
        """Insert contents with consecutive ids. Insert nothing, and return False, if one of them is known."""
        rows, packs = self._lay_out(contents, first, self._next_number("pack") if len(contents) > 1 else 0)
        before = self.connection.total_changes()
        self.connection.executemany(_INSERT, rows)
        if self.connection.total_changes() - before < len(rows):
            self.connection.execute("DELETE FROM content WHERE id >= ?", (first,))
            return False
        for pack, whole in packs:
            self._insert_pack(pack, whole)
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

    def _find_known(self, contents: _Contents) -> dict[bytes, int]:
        """Return the ids of those that are known. They are compared, and replaced if they are damaged."""
        known: list[Any] = self.connection.executemany(_KNOWN, zip(contents)).fetchall()
        reader = ContentReader(self.connection)
        for hash, id, *stored in known:
            content = contents[hash]
            if stored[-1] != len(content.data) or reader.read(*stored) != content.data:
                self._replace(id, hash, content)
        return {row[0]: row[1] for row in known}

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

    def _lay_out(self, contents: _Contents, id: int, pack: int) -> tuple[list[_Row], list[tuple[int, bytes]]]:
        """Return the row of each content, and the packs that they share. One that shares no pack is packed in its row."""
        rows: list[_Row] = []
        packs: list[tuple[int, bytes]] = []
        for group in _split_groups(list(contents.items())):
            if len(group) == 1:
                [(hash, (data, rules, masked, _))] = group
                packing, packed = self.packer.pack(data)
                self.written += len(packed)
                rows.append((id, hash, len(data), packing, rules, masked, packed, None, 0))
                id += 1
                continue
            start = 0
            for hash, (data, rules, masked, _) in group:
                size = len(data)
                rows.append((id, hash, size, SHARED, rules, masked, None, pack, start))
                start += size
                id += 1
            packs.append((pack, b"".join([content.data for _, content in group])))
            pack += 1
        return rows, packs

    def add_pack(self, whole: bytes) -> int:
        """Store the bytes of several contents, and return the id of the pack."""
        id = self._next_number("pack")
        self._insert_pack(id, whole)
        return id

    def _insert_pack(self, id: int, whole: bytes) -> None:
        packing, data = self.packer.pack(whole)
        self.connection.execute("INSERT INTO pack VALUES(?,?,?,?)", (id, len(whole), packing, data))
        self.written += len(data)


def _split_groups(contents: Sequence[tuple[bytes, MaskedBytes]]) -> Iterator[Sequence[tuple[bytes, MaskedBytes]]]:
    """Yield contents in groups of at most PACK_BYTES; a longer one is alone."""
    first = size = 0
    for number, (_, content) in enumerate(contents):
        length = len(content.data)
        size += length
        if size > PACK_BYTES and number > first:
            yield contents[first:number]
            first, size = number, length
    if first < len(contents):
        yield contents[first:]
