"""Read and prepare the lines of files; if there is much to read, by several processes.

Workers get chunks of the files in the order in which they will be ingested. Where a file is new is only predicted for
them: the ingester says where it begins to read, and in what state it found the file. A chunk that a worker read from
elsewhere or in another state is not used, nor is anything after a worker was killed. It is read here instead, by the
same function, so that the archive does not depend on the number of processes.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import astuple
from itertools import count, islice
from typing import Any, NamedTuple, overload

from clew.collect.archive.packed_contents import PackedGroup
from clew.collect.discovery import SourceFile, SourceState
from clew.collect.line_reader import LongLine, UnfinishedLine
from clew.collect.masking import Policy
from clew.collect.prepared_lines import LinePreparer, PreparedChunk, PreparedLines, QuarantinedLine
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, open_regular
from clew.errors import Stale
from clew.system.usable_cores import count_usable_cores
from clew.system.worker_processes import WorkerKilled, map_in_workers

_MAX_WORKERS = 4  # more would wait: a third of the work is that of SQLite, which has one writer (measured)
_WINDOW = 6  # batches of chunks that wait to be written

Settings = tuple[str, bytes | None, list[str], tuple[int, ...]]
"""For a worker: the root, the key of the policy, the erased lines, and the limits."""
Plan = Sequence[tuple[SourceFile, int]]
"""Files in the order in which they are ingested, each with the offset at which its new lines begin."""
_Item = tuple[str, int, int]  # the path of a file, where reading it begins, and where the chunk begins


class _Ahead(NamedTuple):
    """The chunks of a file that workers read, and where reading it begins."""

    numbers: range
    base: int


class ReadAhead:
    """Yields the chunks of files. Close it in the end: it may have workers."""

    def __init__(self, root: str, preparer: LinePreparer, plan: Plan, jobs: int | None = None) -> None:
        self.preparer = preparer
        self._ahead: dict[str, _Ahead] = {}
        self._results: Generator[Any, None, None] | None = None
        self._position = 0  # the number of the next result
        if sum(source.state.size - base for source, base in plan) > preparer.limits.spread_above:
            self._start(root, plan, count_usable_cores() if jobs is None else jobs)

    def _start(self, root: str, plan: Plan, jobs: int) -> None:
        policy, limits = self.preparer.policy, self.preparer.limits
        if policy.key is None:
            jobs = min(jobs, _MAX_WORKERS)
        if jobs < 2:
            return
        chunks = _Chunks(limits.block)
        for source, base in plan:
            self._ahead[source.path] = _Ahead(chunks.add(source.path, base, source.state.size), base)
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
        ahead = self._ahead.pop(path, None)
        if ahead is None or ahead.base != base:
            return
        for number in ahead.numbers:
            result = self._take(number)
            if result is None or result[0] != state:
                return
            yield _from_plain(*result)

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


class _Chunks(Sequence[_Item]):
    """The chunks of many files, held compactly."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.sizes = array("q")
        self._starts = array("q")
        self._files = array("q")
        self._paths: list[str] = []
        self._bases = array("q")

    def add(self, path: str, base: int, size: int) -> range:
        """Add the chunks of a file from an offset to its size, and return their numbers."""
        first = len(self.sizes)
        for start in range(base, size, self.block):
            self._starts.append(start)
            self.sizes.append(min(self.block, size - start))
            self._files.append(len(self._paths))
        self._paths.append(path)
        self._bases.append(base)
        return range(first, len(self.sizes))

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, key: int) -> _Item: ...

    @overload
    def __getitem__(self, key: slice) -> list[_Item]: ...

    def __getitem__(self, key: int | slice) -> _Item | list[_Item]:
        if isinstance(key, slice):
            return [self[number] for number in range(*key.indices(len(self)))]
        file = self._files[key]
        return self._paths[file], self._bases[file], self._starts[key]


# -- in a worker


def prepare_chunks(settings: Settings) -> Callable[[_Item], Any]:
    """Return the function that reads and prepares one chunk; its result is None if the file cannot be read."""
    root, key, erased, limits = settings
    preparer = LinePreparer(Policy(key), frozenset(erased), ReadLimits(*limits))

    def read(item: _Item) -> Any:
        path, base, start = item
        try:
            with open_regular(os.path.join(root, path)) as file:
                return _to_plain(preparer.read(file, base, start))
        except (OSError, Stale):  # the ingester finds out why
            return None

    return read


def _to_plain(chunk: PreparedChunk) -> tuple[Any, ...]:
    """Return a chunk as plain tuples, which can cross a pipe."""
    state, lines, long, unfinished = chunk
    plain: Any = None
    if lines:
        groups, quarantined = (list(map(tuple[Any, ...], each)) for each in (lines.groups, lines.quarantined))
        plain = (*lines[:-3], groups, lines.damaged, quarantined)
    return tuple(state), plain, long and tuple(long), unfinished and tuple(unfinished)


def _from_plain(state: Any, lines: Any, long: Any, unfinished: Any) -> PreparedChunk:
    if lines:
        *columns, groups, damaged, quarantined = lines
        packed = [PackedGroup(*group) for group in groups]
        quarantine = [QuarantinedLine(*line) for line in quarantined]
        lines = PreparedLines._make((*columns, packed, damaged, quarantine))
    return PreparedChunk(
        SourceState(*state), lines, long and LongLine(*long), unfinished and UnfinishedLine(*unfinished)
    )
