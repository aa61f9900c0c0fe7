"""Prove that the part of a file that was already read is unchanged, so that reading can resume after it.

A path proves nothing: files are rewritten in place, truncated and grown again, or replaced, and inode numbers are
reused. A position contains the hash of both ends of what was read, and a hash chain over all its lines, which proves
all of it. The hashes are keyed, so that an archive with masked secrets cannot be used to test guesses.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from clew.collect.discovery import SourceState
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, read_at


class ReadPosition(NamedTuple):
    """How far a generation was read, with the bytes of both ends."""

    offset: int
    lines: int
    chain: bytes
    head: bytes = b""
    tail: bytes = b""

    def advance(self, size: int, lines: int, chain: bytes, ends: tuple[bytes, bytes], window: int) -> ReadPosition:
        """Return the position after more complete lines; `chain` contains them, `ends` are those of their bytes."""
        head = self.head if len(self.head) >= window else (self.head + ends[0])[:window]
        return ReadPosition(self.offset + size, self.lines + lines, chain, head, (self.tail + ends[1])[-window:])


class StoredPosition(NamedTuple):
    """A position as the archive stores it: the ends are hashes."""

    offset: int
    lines: int
    chain: bytes
    head: bytes
    tail: bytes


def extend_chain(chain: bytes, hashes: Iterable[bytes]) -> bytes:
    for hash in hashes:
        chain = sha256(chain + hash).digest()
    return chain


def seal_position(position: ReadPosition, key: bytes) -> StoredPosition:
    # Both ends are stored as keyed hashes: they prove that the file is the same one without keeping its text.
    return StoredPosition(
        position.offset,
        position.lines,
        position.chain,
        _keyed_hash(key, position.head),
        _keyed_hash(key, position.tail),
    )


def _keyed_hash(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


class ReadVerdict(NamedTuple):
    """The position to resume at; or, with a reason, that the file changed and must be read from its beginning."""

    position: ReadPosition
    reason: str = ""


def verify_prefix(
    file: File,
    now: SourceState,
    before: SourceState,
    stored: StoredPosition,
    key: bytes,
    limits: ReadLimits,
    *,
    must_verify: bool,
) -> ReadVerdict:
    """Check whether the part that was read is still in the file. `must_verify` compares all of it, not only its
    ends.

    The ends are sufficient only for the same inode that has grown: growth explains why the file changed.
    """
    beginning = ReadPosition(0, 0, key)
    if stored.offset == 0:
        return ReadVerdict(beginning)
    same = (now.dev, now.ino) == (before.dev, before.ino)
    if now.size < stored.offset:
        return ReadVerdict(beginning, "truncated" if same else "replaced")
    position = _verify_ends(file, stored, key, limits.window)
    if position is None:
        return ReadVerdict(beginning, "rewritten" if same else "replaced")
    grown = same and now.size > before.size
    if (must_verify or not grown or stored.offset <= limits.verify_below) and compute_chain(
        file, stored.offset, key, limits
    ) != stored.chain:
        return ReadVerdict(beginning, "rewritten" if same else "replaced")
    return ReadVerdict(position)


def _verify_ends(file: File, stored: StoredPosition, key: bytes, window: int) -> ReadPosition | None:
    """Return the position with the bytes of its ends, or None if they differ from what was read."""
    length = min(window, stored.offset)
    head = read_at(file, length, 0)
    tail = read_at(file, length, stored.offset - length)
    if _keyed_hash(key, head) != stored.head or _keyed_hash(key, tail) != stored.tail:
        return None
    return ReadPosition(stored.offset, stored.lines, stored.chain, head, tail)


def compute_chain(file: File, until: int, key: bytes, limits: ReadLimits) -> bytes:
    """Compute the hash chain over the lines up to an offset, holding one block in memory. Empty if the file is
    shorter.
    """
    chain, at, line = key, 0, sha256()
    while at < until and (block := read_at(file, min(limits.block, until - at), at)):
        at += len(block)
        first, *others = block.split(b"\n")
        line.update(first)
        for other in others:
            chain = sha256(chain + line.digest()).digest()
            line = sha256(other)
    return chain if at == until else b""
