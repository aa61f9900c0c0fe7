"""Contents that are packed to be stored: neighbours share a pack, so that what repeats from line to line is packed once.

Packing needs no archive, so that any process can do it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from clew.collect.archive.packing import Packer, unpack
from clew.collect.masking import MaskedBytes

PACK_BYTES = 128 << 10
"""Of contents in one pack. Reading one content unpacks all of them, and a damaged pack damages all of them."""


class PackedGroup(NamedTuple):
    """Different contents that are packed together, as columns; how they are packed, and the result."""

    hashes: list[bytes]
    sizes: list[int]
    rules: list[int]
    masked: list[int]
    packing: int
    data: bytes


def pack_contents(packer: Packer, contents: Mapping[bytes, MaskedBytes]) -> list[PackedGroup]:
    """Pack contents, which are given by their hashes, in groups."""
    groups = []
    rows = iter(contents.items())
    for length in _split_groups(contents.values()):
        hashes, group = zip(*islice(rows, length), strict=True)
        whole = b"".join([content.data for content in group])
        sizes = [len(content.data) for content in group]
        rules, masked = ([content[column] for content in group] for column in (1, 2))
        groups.append(PackedGroup(list(hashes), sizes, rules, masked, *packer.pack(whole)))
    return groups


def unpack_group(group: PackedGroup) -> dict[bytes, MaskedBytes]:
    """Return the contents of a group again, by their hashes."""
    whole = unpack(group.packing, group.data, sum(group.sizes)) or b""
    contents, start = {}, 0
    for hash, size, rules, masked in zip(group.hashes, group.sizes, group.rules, group.masked, strict=True):
        contents[hash] = MaskedBytes(whole[start : start + size], rules, masked)
        start += size
    return contents


def _split_groups(contents: Collection[MaskedBytes]) -> Iterator[int]:
    """Yield how many contents each group has: at most PACK_BYTES; a longer content is alone."""
    length = total = 0
    for content in contents:
        size = len(content.data)
        total += size
        if total > PACK_BYTES and length:
            yield length
            length, total = 0, size
        length += 1
    if length:
        yield length
