"""The names of objects in a landing zone.

`host=NAME/epoch=EPOCH/NUMBER-PREVIOUS-DIGEST.KIND.gz`: whose it is, its place in the chain of its archive, the mark of
the object before it, and the SHA-256 of its bytes. So the names alone tell the order, and what was read before.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Literal, NamedTuple, cast

Kind = Literal["lines", "facts"]
HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,79}")
ASIDE = "aside"  # the folder of damaged objects
PROBE = "probe"  # the name of an object that `clew collect test` puts
_MAX_NUMBER = 1 << 24  # objects of an archive: 400 years of one every ten minutes
_DIGEST_BITS = 39  # of a mark, below the number of the object: together 63
_KEY = re.compile(
    rf"host=({HOST_NAME.pattern})/epoch=([0-9a-f]{{32}})/([0-9]{{8}})-([0-9a-f]{{16}})-([0-9a-f]{{64}})\.(lines|facts)\.gz"
)


class ObjectName(NamedTuple):
    """An object: the host whose prefix it is in, the archive's epoch, and its place in the chain of that epoch."""

    host: str
    epoch: str
    number: int
    previous: int
    digest: str
    kind: Kind

    @property
    def key(self) -> str:
        """The name in the zone."""
        return f"host={self.host}/epoch={self.epoch}/{self.number:08}-{self.previous:016x}-{self.digest}.{self.kind}.gz"

    @property
    def mark(self) -> int:
        """What the next object names this one by, and what a store keeps: the number, and part of the checksum; never 0."""
        return self.number << _DIGEST_BITS | int(self.digest[:10], 16) >> 40 - _DIGEST_BITS


def parse_key(key: str) -> ObjectName | None:
    """Return the parts of a name; None if it is not one of an object."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None
    host, epoch, number, previous, digest, kind = found.groups()
    if not 0 < int(number) < _MAX_NUMBER or int(previous, 16) >> 63:
        return None
    return ObjectName(host, epoch, int(number), int(previous, 16), digest, cast(Kind, kind))


def mark_number(mark: int) -> int:
    """Return the number of the object that has a mark; 0 for none."""
    return mark >> _DIGEST_BITS


def stream_host(host: str, epoch: str, stream: int) -> str:
    """Return the value of the column `host` for rows of an archive.

    It is derived from the prefix, which only that host can write to, so that no host can name the rows of another.
    An archive has more than one stream if it was copied, or put back from a backup without `restore-archive`.
    """
    return blake2b(f"{host}\0{epoch}\0{stream}".encode(), digest_size=16).hexdigest()
