"""Checksums of the rows of the archive, which bind a content to its position in a file."""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct

from clew.errors import StoreError

DAMAGED = "damaged"  # the kind of error
HINT = "List all damage with: clew collect verify; repair what still exists on the disk with: clew collect --scrub"
_FOUR, _FIVE = Struct(">4q").pack, Struct(">5q").pack


def line_sum(generation: int, offset: int, number: int, length: int, hash: bytes) -> int:
    """Return the checksum of an occurrence: it binds a content to its position."""
    sum = blake2b(_FOUR(generation, offset, number, length) + hash, digest_size=8).digest()
    return int.from_bytes(sum, signed=True)


def generation_sum(id: int, file: int, number: int, offset: int, lines: int, rest: bytes) -> int:
    """Return the checksum of a generation and its unfinished last line."""
    sum = blake2b(_FIVE(id, file, number, offset, lines) + rest, digest_size=8).digest()
    return int.from_bytes(sum, signed=True)


def damaged_error(path: str, number: object) -> StoreError:
    return StoreError(f"Line {number} of {path} is damaged in the archive.", DAMAGED, False, hint=HINT)
