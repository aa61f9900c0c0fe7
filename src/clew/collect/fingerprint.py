"""Proofs: that what was read of a file still stands there, so that it may be read on.

A path is a name and proves nothing: files are rewritten in place, truncated and grown again, replaced, and inode numbers
are given out anew. A place keeps the hash of both ends of what was read, and a chain over the hashes of all its lines,
which proves the whole of it. All are keyed, so that an archive with masked secrets gives no way to guess them.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from clew.collect.discovery import FileState
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, read_at


class ReadPosition(NamedTuple):
    """How far a generation was read, with the bytes of both ends."""

    offset: int
    lines: int
    chain: bytes
    head: bytes = b""
    tail: bytes = b""

    def after(self, data: bytes, hashes: Iterable[bytes], count: int, window: int) -> ReadPosition:
        """The place behind some more whole lines; a line that was streamed gives its ends by `skip`."""
        head = self.head if len(self.head) >= window else (self.head + data[:window])[:window]
        chain = link(self.chain, hashes)
        return ReadPosition(self.offset + len(data), self.lines + count, chain, head, (self.tail + data)[-window:])

    def skip(self, first: bytes, last: bytes, length: int, hash: bytes, window: int) -> ReadPosition:
        """The place behind one long line that was never in memory as a whole."""
        head = self.head if len(self.head) >= window else (self.head + first)[:window]
        return ReadPosition(
            self.offset + length, self.lines + 1, link(self.chain, (hash,)), head, (self.tail + last)[-window:]
        )


class StoredPosition(NamedTuple):
    """A place as the archive keeps it: the ends as hashes."""

    offset: int
    lines: int
    chain: bytes
    head: bytes
    tail: bytes


def link(chain: bytes, hashes: Iterable[bytes]) -> bytes:
    for hash in hashes:
        chain = sha256(chain + hash).digest()
    return chain


def mark(place: ReadPosition, key: bytes) -> StoredPosition:
    return StoredPosition(place.offset, place.lines, place.chain, _seal(key, place.head), _seal(key, place.tail))


def _seal(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


class ReadVerdict(NamedTuple):
    """Where to read on; or, with a reason, that the file is another one now and is read from its beginning."""

    place: ReadPosition
    reason: str = ""


def judge(
    file: File, now: FileState, before: FileState, old: StoredPosition, key: bytes, limits: ReadLimits, *, doubted: bool
) -> ReadVerdict:
    """Whether what was read still stands in the file. `doubted` asks for all of it to be compared.

    The ends are enough only for the same file that has grown; growth is what explains that it changed.
    """
    beginning = ReadPosition(0, 0, key)
    if old.offset == 0:
        return ReadVerdict(beginning)
    same = (now.dev, now.ino) == (before.dev, before.ino)
    if now.size < old.offset:
        return ReadVerdict(beginning, "truncated" if same else "replaced")
    place = _ends(file, old, key, limits.window)
    if place is None:
        return ReadVerdict(beginning, "rewritten" if same else "replaced")
    grown = same and now.size > before.size
    if (doubted or not grown or old.offset <= limits.sure) and chain_of(file, old.offset, key, limits) != old.chain:
        return ReadVerdict(beginning, "rewritten" if same else "replaced")
    return ReadVerdict(place)


def _ends(file: File, old: StoredPosition, key: bytes, window: int) -> ReadPosition | None:
    """The place with the bytes of its ends, if they are those that were read."""
    length = min(window, old.offset)
    head = read_at(file, length, 0)
    tail = read_at(file, length, old.offset - length)
    if _seal(key, head) != old.head or _seal(key, tail) != old.tail:
        return None
    return ReadPosition(old.offset, old.lines, old.chain, head, tail)


def chain_of(file: File, until: int, key: bytes, limits: ReadLimits) -> bytes:
    """The chain over the lines up to an offset, as they stand in the file now; nothing is held but one block."""
    chain, at, line = key, 0, sha256()
    while at < until and (block := read_at(file, min(limits.block, until - at), at)):
        at += len(block)
        first, *others = block.split(b"\n")
        line.update(first)
        for other in others:
            chain = sha256(chain + line.digest()).digest()
            line = sha256(other)
    return chain if at == until else b""
