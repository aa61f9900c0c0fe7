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

from clew.collect.discovery import State
from clew.collect.read_limits import Limits
from clew.collect.safe_open import File, read_at


class Place(NamedTuple):
    """How far a generation was read, with the bytes of both ends."""

    offset: int
    lines: int
    chain: bytes
    head: bytes = b""
    tail: bytes = b""

    def after(self, data: bytes, hashes: Iterable[bytes], count: int, window: int) -> Place:
        """The place behind some more whole lines; a line that was streamed gives its ends by `skip`."""
        head = self.head if len(self.head) >= window else (self.head + data[:window])[:window]
        chain = link(self.chain, hashes)
        return Place(self.offset + len(data), self.lines + count, chain, head, (self.tail + data)[-window:])

    def skip(self, first: bytes, last: bytes, length: int, hash: bytes, window: int) -> Place:
        """The place behind one long line that was never in memory as a whole."""
        head = self.head if len(self.head) >= window else (self.head + first)[:window]
        return Place(
            self.offset + length, self.lines + 1, link(self.chain, (hash,)), head, (self.tail + last)[-window:]
        )


class Mark(NamedTuple):
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


def mark(place: Place, key: bytes) -> Mark:
    return Mark(place.offset, place.lines, place.chain, _seal(key, place.head), _seal(key, place.tail))


def _seal(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


class Verdict(NamedTuple):
    """Where to read on; or, with a reason, that the file is another one now and is read from its beginning."""

    place: Place
    reason: str = ""


def judge(file: File, now: State, before: State, old: Mark, key: bytes, limits: Limits, *, doubted: bool) -> Verdict:
    """Whether what was read still stands in the file. `doubted` asks for all of it to be compared.

    The ends are enough only for the same file that has grown; growth is what explains that it changed.
    """
    beginning = Place(0, 0, key)
    if old.offset == 0:
        return Verdict(beginning)
    same = (now.dev, now.ino) == (before.dev, before.ino)
    if now.size < old.offset:
        return Verdict(beginning, "truncated" if same else "replaced")
    place = _ends(file, old, key, limits.window)
    if place is None:
        return Verdict(beginning, "rewritten" if same else "replaced")
    grown = same and now.size > before.size
    if (doubted or not grown or old.offset <= limits.sure) and chain_of(file, old.offset, key, limits) != old.chain:
        return Verdict(beginning, "rewritten" if same else "replaced")
    return Verdict(place)


def _ends(file: File, old: Mark, key: bytes, window: int) -> Place | None:
    """The place with the bytes of its ends, if they are those that were read."""
    length = min(window, old.offset)
    head = read_at(file, length, 0)
    tail = read_at(file, length, old.offset - length)
    if _seal(key, head) != old.head or _seal(key, tail) != old.tail:
        return None
    return Place(old.offset, old.lines, old.chain, head, tail)


def chain_of(file: File, until: int, key: bytes, limits: Limits) -> bytes:
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
