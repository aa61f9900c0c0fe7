"""Store contents once each: those of one call share packs, so that what repeats from line to line is packed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from clew.collect.archive.content_reader import ContentReader
from clew.collect.archive.packing import ABSENT, SHARED, Packer
from clew.collect.masking import MaskedBytes

PACK_BYTES = 128 << 10
"""Of contents in one pack. Reading one content unpacks all of them, and a damaged pack damages all of them."""
_KNOWN = "SELECT hash, id, packing, data, pack, start, size FROM content WHERE hash = ?"
_INSERT = "INSERT INTO content(id, hash, size, packing, rules, masked, data, pack, start) VALUES(?,?,?,?,?,?,?,?,?)"

_New = tuple[int, bytes, MaskedBytes]  # the id, the hash and the bytes of a content


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
        ids = self._find_known(hashes, contents)
        following = int(self.connection.execute("SELECT coalesce(max(id), 0) FROM content").get) + 1
        new: list[_New] = []
        for hash, content in zip(hashes, contents, strict=True):
            if hash not in ids:
                ids[hash] = following
                new.append((following, hash, content))
                following += 1
        rows = [row for group in _split_groups(new) for row in self._pack_group(group)]
        self.connection.executemany(_INSERT, rows)
        return [ids[hash] for hash in hashes]

    def find(self, hash: bytes) -> int | None:
        row: Any = self.connection.execute("SELECT id FROM content WHERE hash = ?", (hash,)).fetchone()
        return None if row is None else int(row[0])

    def add_absent(self, hash: bytes, size: int) -> int:
        """Store only the hash of a content that is too long."""
        self.connection.execute(
            "INSERT INTO content(hash, size, packing, rules, masked, data) VALUES(?,?,?,0,0,NULL)", (hash, size, ABSENT)
        )
        return self.connection.last_insert_rowid()

    def _find_known(self, hashes: Sequence[bytes], contents: Sequence[MaskedBytes]) -> dict[bytes, int]:
        known: list[Any] = self.connection.executemany(_KNOWN, zip(hashes)).fetchall()
        if not known:
            return {}
        expected = dict(zip(hashes, contents, strict=True))
        reader = ContentReader(self.connection)
        for hash, id, *stored in known:
            content = expected[hash]
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

    def _pack_group(self, group: Sequence[_New]) -> Iterator[tuple[int | bytes | None, ...]]:
        """Write the pack of several contents, and yield a row for each; a single one is packed in its row."""
        if len(group) == 1:
            id, hash, content = group[0]
            packing, data = self.packer.pack(content.data)
            self.written += len(data)
            yield id, hash, len(content.data), packing, content.rules, content.masked, data, None, 0
            return
        whole = b"".join([content.data for _, _, content in group])
        pack = self.add_pack(whole)
        start = 0
        for id, hash, content in group:
            size = len(content.data)
            yield id, hash, size, SHARED, content.rules, content.masked, None, pack, start
            start += size

    def add_pack(self, whole: bytes) -> int:
        packing, data = self.packer.pack(whole)
        self.connection.execute("INSERT INTO pack(size, packing, data) VALUES(?,?,?)", (len(whole), packing, data))
        self.written += len(data)
        return self.connection.last_insert_rowid()


def _split_groups(contents: Sequence[_New]) -> Iterator[Sequence[_New]]:
    """Yield contents in groups of at most PACK_BYTES; a longer one is alone."""
    first = size = 0
    for number, (_, _, content) in enumerate(contents):
        size += len(content.data)
        if size > PACK_BYTES and number > first:
            yield contents[first:number]
            first, size = number, len(content.data)
    if first < len(contents):
        yield contents[first:]
