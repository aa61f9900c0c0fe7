"""Read contents of the archive and verify them: alone, or out of a pack that they share."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from struct import error as struct_error
from typing import Any

import apsw

from clew.collect.archive.checksums import line_sum
from clew.collect.archive.packing import ABSENT, SHARED, unpack

CONTENT = "c.packing, c.data, c.pack, c.start, c.size, c.hash"
"""The columns that a content is read from; `c` is the table."""
_KEPT_PACKS = 4


class ContentReader:
    """Reads contents. The packs used last are kept unpacked, because lines are stored in the order of their files."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._packs: dict[int, bytes | None] = {}

    def read(self, packing: int, data: bytes | None, pack: int | None, start: int, size: int) -> bytes | None:
        """Return the bytes of a content, unverified; None if they cannot be unpacked or are not stored."""
        if packing != SHARED:
            return unpack(packing, data, size)
        whole = self._read_pack(pack) if pack is not None else None
        return whole[start : start + size] if whole is not None and start >= 0 <= size else None

    def read_sound(self, content: Sequence[Any]) -> tuple[bytes | None, bool]:
        """Return the bytes of a row with these columns, and whether they are what its hash says.

        The bytes are None if they are damaged, or if only their hash is stored.
        """
        packing, data, pack, start, size, hash = content
        if packing == ABSENT:
            return None, data is None and pack is None
        raw = self.read(packing, data, pack, start, size)
        is_sound = raw is not None and len(raw) == size and sha256(raw).digest() == hash
        return (raw if is_sound else None), is_sound

    def read_line(self, place: Sequence[Any], content: Sequence[Any]) -> tuple[bytes | None, bool]:
        """Verify a line: `place` is its generation, offset, number, length and checksum.

        Return the bytes, None if they are damaged or not stored, and whether the row is sound. The checksum is NULL
        in an archive of the first version.
        """
        generation, offset, number, length, sum = place
        try:
            raw, is_sound = self.read_sound(content)
            is_sound = is_sound and (sum is None or sum == line_sum(generation, offset, number, length, content[5]))
        except (TypeError, ValueError, struct_error):  # a flipped bit changed the type of a column
            return None, False
        return (raw if is_sound else None), is_sound

    def _read_pack(self, id: int) -> bytes | None:
        if id not in self._packs:
            row: Any = self.connection.execute("SELECT packing, data, size FROM pack WHERE id = ?", (id,)).fetchone()
            if len(self._packs) >= _KEPT_PACKS:
                del self._packs[next(iter(self._packs))]
            whole = unpack(*row) if row else None
            self._packs[id] = whole if whole is not None and len(whole) == row[2] else None
        return self._packs[id]
