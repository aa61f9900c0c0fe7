"""Read and prepare the lines of files; if there is much to read, by several processes.

Workers get chunks of the files in the order in which they will be ingested. Where a file is new is only predicted for
them: the ingester says where it begins to read, and in what state it found the file. A chunk that a worker read from
elsewhere or in another state is not used, nor is anything after a worker was killed. It is read here instead, by the
same function, so that the archive does not depend on the number of processes. The same is true of checksums: those that
a worker computed after other lines than the ingester found are computed here again.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count, islice
from typing import Any, NamedTuple

from msgspec.structs import astuple

from clew.collect.archive.packed_contents import PackedGroup
from clew.collect.discovery import SourceFile, SourceState
from clew.collect.fingerprint import extend_chain
from clew.collect.line_reader import LongLine, UnfinishedLine
from clew.collect.masking import Policy
from clew.collect.prepared_lines import (
    LinePreparer,
    LineSums,
    Precursor,
    PreparedChunk,
    PreparedLines,
    QuarantinedLine,
)
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, open_regular
from clew.errors import Stale
from clew.system.usable_cores import count_usable_cores
from clew.system.worker_processes import WorkerKilled, map_in_workers

_MAX_WORKERS = 4  # more would wait: a third of the work is that of SQLite, which has one writer (measured)
_WINDOW = 6  # batches of chunks that wait to be written

Settings = tuple[str, bytes | None, list[str], tuple[int, ...]]
"""For a worker: the root, the key of the policy, the erased lines, and the limits."""
_Item = tuple[str, int, int, tuple[int, int, int, bytes] | None]
"""The path of a file, where reading it begins, where the chunk begins, and the precursor of the first chunk."""


class ExpectedLines(NamedTuple):
    """A file whose new lines are expected at an offset, and what is expected before them."""

    source: SourceFile
    base: int
    before: Precursor


Plan = Iterable[ExpectedLines]
"""Files in the order in which they are ingested. They are asked for twice, because there may be too many to hold."""


class ReadAhead:
    """Yields the chunks of files. Close it in the end: it may have workers."""

    def __init__(self, root: str, preparer: LinePreparer, plan: Plan, jobs: int | None = None) -> None:
        self.preparer = preparer
        self._chunks = _Chunks(preparer.limits.block)
        self._ahead: dict[str, int] = {}  # the numbers of the files that workers read
        self._results: Generator[Any, None, None] | None = None
        self._position = 0  # the number of the next result
        if sum(each.source.state.size - each.base for each in plan) > preparer.limits.spread_above:
            self._start(root, plan, count_usable_cores() if jobs is None else jobs)

    def _start(self, root: str, plan: Plan, jobs: int) -> None:
        policy, limits = self.preparer.policy, self.preparer.limits
        if policy.key is None:
            jobs = min(jobs, _MAX_WORKERS)
        if jobs < 2:
            return
        chunks = self._chunks
        self._ahead = {expected.source.path: chunks.add(expected) for expected in plan}
        settings: Settings = (root, policy.key, list(self.preparer.erased), astuple(limits))
        self._results = map_in_workers(
            prepare_chunks, settings, chunks, chunks.sizes, jobs=jobs, min_bytes=0, window=_WINDOW
        )

    def close(self) -> None:
        if self._results is not None:
            self._results.close()

    def chunks(self, file: File, path: str, state: SourceState, base: int) -> Iterator[PreparedChunk]:
        """Yield the lines of a file in this state from an offset on; the last chunk has the unfinished line."""
        start = base
        for chunk in self._read_by_workers(path, state, base):
            yield chunk
            if chunk.unfinished:
                return
            start += self.preparer.limits.block
        for at in count(start, self.preparer.limits.block):
            chunk = self.preparer.read(file, base, at)
            yield chunk
            if chunk.unfinished:
                return

    def _read_by_workers(self, path: str, state: SourceState, base: int) -> Iterator[PreparedChunk]:
        file = self._ahead.pop(path, None)
        if file is None or self._chunks.bases[file] != base:
            return
        for number in self._chunks.of_file(file):
            result = self._take(number)
            if result is None or result[0] != state:
                return
            yield from_plain(*result)

    def _take(self, number: int) -> Any:
        """Return a result of the workers, and drop those before it; None if there is none."""
        if self._results is None:
            return None
        try:
            result = next(islice(self._results, number - self._position, None), None)
        except WorkerKilled:
            self._results = None
            return None
        self._position = number + 1
        return result


class _Chunks:
    """The chunks of many files, held compactly."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.sizes = array("q")
        self._starts = array("q")
        self._files = array("q")
        self._paths: list[str] = []
        self._firsts = array("q")  # the number of the first chunk of each file
        self.bases, self._generations, self._lines = array("q"), array("q"), array("q")
        self._chains: list[bytes] = []

    def add(self, expected: ExpectedLines) -> int:
        """Add the chunks of a file from an offset to its size, and return the number of the file."""
        source, base, before = expected
        self._firsts.append(len(self.sizes))
        for start in range(base, source.state.size, self.block):
            self._starts.append(start)
            self.sizes.append(min(self.block, source.state.size - start))
            self._files.append(len(self._paths))
        self._paths.append(source.path)
        self.bases.append(base)
        self._generations.append(before.generation)
        self._lines.append(before.lines)
        self._chains.append(before.chain)
        return len(self._paths) - 1

    def of_file(self, file: int) -> range:
        """Return the numbers of the chunks of a file."""
        stop = self._firsts[file + 1] if file + 1 < len(self._firsts) else len(self.sizes)
        return range(self._firsts[file], stop)

    def __getitem__(self, number: int) -> _Item:
        file, start = self._files[number], self._starts[number]
        path, base = self._paths[file], self.bases[file]
        before = (self._generations[file], base, self._lines[file], self._chains[file]) if start == base else None
        return path, base, start, before


# -- in a worker


def prepare_chunks(settings: Settings) -> Callable[[_Item], Any]:
    """Return the function that reads and prepares one chunk; its result is None if the file cannot be read.

    The checksums of its lines depend on those before, so a worker computes them from the first chunk of a file on, as long
    as it gets all chunks of it.
    """
    root, key, erased, limits = settings
    preparer = LinePreparer(Policy(key), frozenset(erased), ReadLimits(*limits))
    next_chunk: tuple[str, int] = "", 0
    next_before: Precursor | None = None

    def read(item: _Item) -> Any:
        nonlocal next_chunk, next_before
        path, base, start, given = item
        before = Precursor(*given) if given else next_before if (path, start) == next_chunk else None
        next_before = None
        try:
            with open_regular(os.path.join(root, path)) as file:
                chunk = preparer.read(file, base, start)
        except (OSError, Stale):  # the ingester finds out why
            return None
        if before:
            chunk, next_before = _add_sums(chunk, before)
            next_chunk = path, start + preparer.limits.block
        return _to_plain(chunk)

    return read


def _add_sums(chunk: PreparedChunk, before: Precursor) -> tuple[PreparedChunk, Precursor]:
    """Return a chunk with the checksums of its lines, and what is before the next one."""
    if lines := chunk.lines:
        sums = lines.compute_sums(before)
        chunk = chunk._replace(lines=lines._replace(sums=sums))
        before = Precursor(before.generation, before.offset + lines.size, before.lines + len(sums.sums), sums.chain)
    if chunk.long:
        chain = extend_chain(before.chain, [chunk.long.hash])
        before = Precursor(before.generation, before.offset + chunk.long.length, before.lines + 1, chain)
    return chunk, before


def _to_plain(chunk: PreparedChunk) -> tuple[Any, ...]:
    """Return a chunk as plain tuples, which can cross a pipe."""
    state, lines, long, unfinished = chunk
    plain: Any = None
    if lines:
        groups, quarantined = (list(map(tuple[Any, ...], each)) for each in (lines.groups, lines.quarantined))
        sums = lines.sums and (tuple(lines.sums.before), *lines.sums[1:])
        plain = (*lines[:-4], groups, lines.damaged, quarantined, sums)
    return tuple(state), plain, long and tuple(long), unfinished and tuple(unfinished)


def from_plain(state: Any, lines: Any, long: Any, unfinished: Any) -> PreparedChunk:
    """Return the chunk of a result of a worker."""
    if lines:
        *columns, groups, damaged, quarantined, given = lines
        packed = [PackedGroup(*group) for group in groups]
        quarantine = [QuarantinedLine(*line) for line in quarantined]
        sums = LineSums(Precursor(*given[0]), *given[1:]) if given else None
        lines = PreparedLines._make((*columns, packed, damaged, quarantine, sums))
    return PreparedChunk(
        SourceState(*state), lines, long and LongLine(*long), unfinished and UnfinishedLine(*unfinished)
    )
