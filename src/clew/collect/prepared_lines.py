"""Prepare lines to be stored: hash, inspect, mask and pack them.

Nothing of it needs the archive, so that any process can do it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, count, repeat
from typing import NamedTuple

import msgspec

from clew.collect.archive.checksums import line_sum
from clew.collect.archive.packed_contents import PackedGroup, pack_contents
from clew.collect.archive.packing import Packer
from clew.collect.discovery import SourceState
from clew.collect.fingerprint import extend_chain
from clew.collect.line_reader import LongLine, UnfinishedLine, read_chunk
from clew.collect.masking import ERASED, MaskedBytes, Policy
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, state_now
from clew.wire.entry import DECODE_ERRORS, Damaged, find_line_starts, read_piece


class _Object(msgspec.Struct):
    """Any JSON object; a line must be one."""


_DECODER = msgspec.json.Decoder(_Object)


class QuarantinedLine(NamedTuple):
    """A line that is not one JSON object, or that may not be stored: its position, kind, reason and what was
    salvaged.
    """

    offset: int
    length: int
    kind: str
    reason: str
    salvaged: str = "[]"


class Precursor(NamedTuple):
    """What the checksums of lines depend on beside them: their generation and offset, the number of lines before them, and
    the chain over these.
    """

    generation: int
    offset: int
    lines: int
    chain: bytes


class LineSums(NamedTuple):
    """The checksums of lines after a precursor, and the chain over all of them."""

    before: Precursor
    sums: list[int]
    chain: bytes


class PreparedLines(NamedTuple):
    """Complete lines: their offset and bytes, both ends of these, and for each line its length and hash."""

    offset: int
    size: int
    first: bytes
    last: bytes
    lengths: list[int]
    """With the newline."""
    hashes: list[bytes]
    """Of the lines as they are."""
    stored: list[bytes]
    """The hashes of what is stored of them."""
    groups: list[PackedGroup]
    """The different contents among them."""
    damaged: int
    quarantined: list[QuarantinedLine]
    sums: LineSums | None = None

    def compute_sums(self, before: Precursor) -> LineSums:
        """Return the checksums of these lines after a precursor, unless they were computed for the same one."""
        if self.sums and self.sums.before == before:
            return self.sums
        offsets = accumulate(self.lengths[:-1], initial=before.offset)
        sums = map(line_sum, repeat(before.generation), offsets, count(before.lines + 1), self.lengths, self.stored)
        return LineSums(before, list(sums), extend_chain(before.chain, self.hashes))


class PreparedChunk(NamedTuple):
    """A chunk of a file, and the state of the file before it was read."""

    state: SourceState
    lines: PreparedLines | None
    long: LongLine | None
    unfinished: UnfinishedLine | None


class LinePreparer:
    """Prepares lines for one archive. `erased` are the hashes of lines that must not be stored, in hex."""

    def __init__(self, policy: Policy, erased: Collection[str], limits: ReadLimits) -> None:
        self.policy = policy
        self.erased = erased
        self.limits = limits
        self.packer = Packer()

    def read(self, file: File, base: int, start: int) -> PreparedChunk:
        """Read and prepare the chunk of a file at `start`; reading began at `base`."""
        state = state_now(file)
        chunk = read_chunk(file, base, start, self.limits)
        lines = self.prepare(chunk.data, chunk.offset) if chunk.data else None
        return PreparedChunk(state, lines, chunk.long, chunk.unfinished)

    def prepare(self, data: bytes, offset: int) -> PreparedLines:
        """Prepare complete lines, which are at an offset."""
        lines = data.split(b"\n")[:-1]
        hashes = [sha256(line).digest() for line in lines]
        damage = find_damage(data, offset)
        contents = list(self._mask_lines(lines, offset, {each.offset: each for each in damage}))
        stored = hashes
        if self.policy.key is not None or self.erased:
            contents = [self.without_erased(*pair) for pair in zip(hashes, contents, strict=True)]
            stored = [
                hash if content.data is line else sha256(content.data).digest()
                for hash, content, line in zip(hashes, contents, lines, strict=True)
            ]
        lengths = [len(line) + 1 for line in lines]
        groups = pack_contents(self.packer, dict(zip(stored, contents, strict=True)))
        withheld = self._find_withheld(offset, lengths, contents, damage)
        ends = data[: self.limits.window], data[-self.limits.window :]
        return PreparedLines(
            offset, len(data), *ends, lengths, hashes, stored, groups, len(damage), [*withheld, *damage]
        )

    def without_erased(self, hash: bytes, masked: MaskedBytes) -> MaskedBytes:
        """Return a mark instead of a line that was erased; `hash` is that of the line itself."""
        if self.erased and (hash.hex() in self.erased or sha256(masked.data).hexdigest() in self.erased):
            return MaskedBytes(ERASED, 1, 1)
        return masked

    def _mask_lines(
        self, lines: Sequence[bytes], offset: int, damaged: Mapping[int, QuarantinedLine]
    ) -> Iterator[MaskedBytes]:
        """Yield what may be stored of each line; if secrets are masked, nothing of a damaged one."""
        if self.policy.key is None or not damaged:
            yield from self.policy.mask_lines(lines)
            return
        for line in lines:
            line_damage = damaged.get(offset)
            yield self.policy.withhold(line, line_damage.reason) if line_damage else self.policy.mask_line(line)
            offset += len(line) + 1

    def _find_withheld(
        self,
        offset: int,
        lengths: Sequence[int],
        contents: Sequence[MaskedBytes],
        damage: Collection[QuarantinedLine],
    ) -> Iterator[QuarantinedLine]:
        """Yield the lines that are withheld although they are not damaged."""
        if self.policy.key is None:
            return
        damaged = {each.offset for each in damage}
        for length, content in zip(lengths, contents, strict=True):
            if content.withheld and offset not in damaged:
                yield QuarantinedLine(offset, length, "withheld", content.withheld)
            offset += length


def find_damage(data: bytes, offset: int) -> list[QuarantinedLine]:
    """Return the lines that are not one JSON object each, with what could be salvaged; blank lines are not damage."""
    try:
        objects = _DECODER.decode_lines(data)
    except DECODE_ERRORS:
        objects = []
    if objects and find_line_starts(data, len(objects)):
        return []
    return [_describe_damage(item) for item in read_piece(data, offset, 1) if isinstance(item, Damaged)]


def _describe_damage(item: Damaged) -> QuarantinedLine:
    salvaged = [[entry.line.offset, entry.line.end - entry.line.offset] for entry in item.salvaged]
    line = item.line
    return QuarantinedLine(line.offset, line.end - line.offset, item.kind, item.reason[:200], json.dumps(salvaged))
