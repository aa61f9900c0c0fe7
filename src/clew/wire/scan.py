"""Scanning: a pass over many files that keeps nothing of them.

It decodes only what says who said what (`Spoken`), a piece at a time, with the offset of each line beside it. Reading a
session (`entry.read`) goes the same way and keeps the bytes; a piece with anything odd in it goes through that reader, so
the two never differ in what they find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from clew.wire.entry import REFUSALS, Damaged, Entry, Spoken, is_one_object_a_line, read_piece
from clew.wire.line import Source, pieces

_DECODER = msgspec.json.Decoder(Spoken)


class Piece(NamedTuple):
    """Some lines of a file: what they say, where each begins, and how many were damaged."""

    spoken: list[Spoken]
    offsets: list[int]
    damaged: int = 0


def scan(source: Source, *, offset: int = 0) -> Iterator[Piece]:
    """The entries of a source in pieces, those saved from damaged lines included."""
    number = 1
    for buffer, at in pieces(source, offset=offset):
        try:
            spoken = _DECODER.decode_lines(buffer)
        except REFUSALS:
            spoken = []
        starts = is_one_object_a_line(buffer, len(spoken))
        yield Piece(spoken, [at + start for start in starts]) if starts else _oddly(buffer, at, number)
        number += buffer.count(b"\n") if not starts else len(starts)


def _oddly(buffer: bytes, at: int, number: int) -> Piece:
    found: list[Entry] = []
    damaged = 0
    for item in read_piece(buffer, at, number):
        if isinstance(item, Entry):
            found.append(item)
        elif isinstance(item, Damaged):
            damaged += 1
            found.extend(item.salvaged)
    return Piece(list(found), [entry.offset for entry in found], damaged)
