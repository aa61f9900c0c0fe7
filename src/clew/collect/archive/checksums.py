"""Verify what the archive returns: a hash for each content, a checksum for each row that says where it belongs."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from hashlib import blake2b, sha256
from struct import error as struct_error
from struct import pack

from clew.errors import StoreError

RAW, DEFLATED, ABSENT = 0, 1, 2  # how a content is packed; of an absent one only the hash is stored
DAMAGED = "damaged"  # the kind of error
HINT = "List all damage with: clew collect verify; repair what still exists on the disk with: clew collect --scrub"


def line_sum(generation: int, offset: int, number: int, length: int, hash: bytes) -> int:
    """Return the checksum of an occurrence: it binds a content to its position."""
    return _to_integer(pack(">4q", generation, offset, number, length) + hash)


def generation_sum(id: int, file: int, number: int, offset: int, lines: int, rest: bytes) -> int:
    """Return the checksum of a generation and its unfinished last line."""
    return _to_integer(pack(">5q", id, file, number, offset, lines) + rest)


def _to_integer(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), signed=True)


def unpack(packing: int, data: bytes | None) -> bytes | None:
    """Return the bytes of a content, unverified; None if they cannot be unpacked or are not stored."""
    if packing == ABSENT or not isinstance(data, bytes):
        return None
    if packing != DEFLATED:
        return data
    try:
        return zlib.decompress(data)
    except zlib.error:
        return None


def is_sound_content(packing: int, data: bytes | None, size: int, hash: bytes) -> bool:
    """Return whether a content is what its hash says. A content that was too long to be stored has no data."""
    if packing == ABSENT:
        return data is None
    raw = unpack(packing, data)
    return raw is not None and len(raw) == size and sha256(raw).digest() == hash


def read_line(row: Sequence[object]) -> tuple[bytes | None, bool]:
    """Verify (generation, offset, number, length, sum, packing, data, size, hash, rules).

    Return the bytes, None if they are damaged or not stored, and whether the row is sound. `sum` is NULL in an
    archive of the first version.
    """
    generation, offset, number, length, sum, packing, data, size, hash = row[:9]
    try:
        is_sound = is_sound_content(packing, data, size, hash) and (  # type: ignore[arg-type]
            sum is None or sum == line_sum(generation, offset, number, length, hash)  # type: ignore[arg-type]
        )
    except (TypeError, ValueError, struct_error):  # a flipped bit changed the type of a column
        is_sound = False
    return (unpack(packing, data) if is_sound else None), is_sound  # type: ignore[arg-type]


def damaged_error(path: str, number: object) -> StoreError:
    return StoreError(f"Line {number} of {path} is damaged in the archive.", DAMAGED, False, hint=HINT)
