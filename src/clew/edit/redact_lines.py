"""Redact the lines of transcripts, many at a time, and those of a large session in several processes.

Workers get the lines themselves, not places in a file: what they search is what will be written, also if the file has
changed since it was read, or an earlier step of the plan changed the line. They return only the lines that change.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Any, NamedTuple

from clew.edit.redactor import Redactor, count_kinds, has_repeated_names
from clew.system.regex_deadline import Pattern
from clew.system.worker_processes import map_in_workers
from clew.wire.entry import Entry, decode_data
from clew.wire.json_codec import encode
from clew.wire.json_splice import REMOVED, patch_json

MIN_BYTES = 16 << 20  # bytes of lines from which several processes pay off
CHUNK_BYTES = 1 << 19  # of lines that are searched together, which costs a fraction of separate searches

Settings = tuple[bool, list[tuple[str, int]]]
"""For a worker: whether secrets are redacted, and the user's expressions with their flags."""
Chunk = list[tuple[bytes, bool]]
"""The JSON of some entries, and whether each is a whole line."""
Counts = list[tuple[str, str, int]]
"""How often each kind was found in each field."""


class LineChange(NamedTuple):
    """The line that replaces an entry, None if nothing is left of it, and what was redacted."""

    line: bytes | None
    counts: Counts
    thinking: int  # removed blocks


def redact_lines(
    entries: Sequence[Entry], redactor: Redactor, *, jobs: int | None, min_bytes: int = MIN_BYTES
) -> Generator[LineChange | None, None, None]:
    """Yield for each entry how its line changes; None if it stays. Close the generator: it may have workers."""
    chunks = _LineChunks(entries)
    settings: Settings = (redactor.secrets, [(each.expression, each.compiled.flags) for each in redactor.patterns])
    results = map_in_workers(prepare_redaction, settings, chunks, chunks.sizes, jobs=jobs, min_bytes=min_bytes)
    with closing(results):
        for count, changes in zip(chunks.counts, results, strict=True):
            for number in range(count):
                yield LineChange(*changes[number]) if number in changes else None


def prepare_redaction(settings: Settings) -> Callable[[Chunk], dict[int, tuple[bytes | None, Counts, int]]]:
    """Return the function that redacts a chunk: it returns the fields of a `LineChange` by the number of the line."""
    secrets, patterns = settings
    redactor = Redactor(secrets, tuple(Pattern(*each) for each in patterns))

    def redact_chunk(chunk: Chunk) -> dict[int, tuple[bytes | None, Counts, int]]:
        changes = {}
        for number in _changing_lines(chunk, redactor):
            if change := _redact_line(chunk[number][0], decode_data(*chunk[number]), redactor):
                changes[number] = change
        return changes

    return redact_chunk


def _changing_lines(chunk: Chunk, redactor: Redactor) -> Iterable[int]:
    """Return the numbers of the lines that can change: something may match, or a field is repeated."""
    if not redactor.searches_together:
        return range(len(chunk))
    repeated: list[bool] = []
    matches = redactor.may_match(_decode_lines(chunk, repeated))
    return [number for number, each in enumerate(zip(matches, repeated, strict=True)) if any(each)]


def _decode_lines(chunk: Chunk, repeated: list[bool]) -> Iterator[dict[str, Any]]:
    """Yield the data of the lines, and add whether a field of each is repeated: the value of only one of them is decoded.

    What is decoded is used before the next line is decoded, while it is in the CPU cache.
    """
    for line in chunk:
        data = decode_data(*line)
        repeated.append(has_repeated_names(line[0], data))
        yield data


def _redact_line(json: bytes, data: dict[str, Any], redactor: Redactor) -> tuple[bytes | None, Counts, int] | None:
    """Return the fields of a `LineChange`, None if the line stays."""
    redacted = redactor.entry(data)
    if has_repeated_names(json, data):
        line = patch_json(b"", None, redacted)  # a repeated field is written once
    elif redacted is data:
        return None
    else:
        line = patch_json(json, data, redacted)
    counts: Counts = []
    for name in data:
        if redacted.get(name) is not data[name]:
            before, after = encode(data[name]), patch_json(b"", None, redacted.get(name))
            counts += ((name, kind, count) for kind, count in count_kinds(before, after).items())
    thoughts = _count_removed(redacted)
    left = (
        redacted.get("message", {}).get("content") if thoughts and isinstance(redacted.get("message"), dict) else None
    )
    is_empty = isinstance(left, list) and all(block is REMOVED for block in left)
    return None if is_empty else line, counts, thoughts


def _count_removed(value: Any) -> int:
    if value is REMOVED:
        return 1
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_count_removed, inner))


class _LineChunks:
    """The lines of entries in chunks, which are copied when they are asked for: all of them would take much memory."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._bounds = array("q", [0])
        self.sizes = array("q")
        size = 0
        for number, entry in enumerate(entries, 1):
            size += entry.line.size
            if size >= CHUNK_BYTES or number == len(entries):
                self._bounds.append(number)
                self.sizes.append(size)
                size = 0

    @property
    def counts(self) -> list[int]:
        """The number of lines in each chunk."""
        return [stop - start for start, stop in pairwise(self._bounds)]

    def __getitem__(self, number: int) -> Chunk:
        lines = (entry.line for entry in self._entries[self._bounds[number] : self._bounds[number + 1]])
        return [(line.json, line.whole) for line in lines]
