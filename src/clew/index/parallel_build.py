"""Read changed transcripts into the shards; large builds use one process per shard.

More processes than shards would not help: half of the work is done by SQLite, which lets one process write to a file at
a time, and moving texts from readers to writers takes longer than reading them. More shards would make every search slower.
"""

from __future__ import annotations

import gc
import os
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from subprocess import Popen

import msgspec

from clew.index.changed_files import ChangedFiles, find_changed_files
from clew.index.index_files import IndexFiles
from clew.index.index_schema import open_shard
from clew.index.refresh import MERGE_SECONDS, merge_segments, update_shard
from clew.index.results import Refreshed
from clew.system.sqlite_file import run_pragmas
from clew.system.subprocesses import start_clew
from clew.system.usable_cores import count_usable_cores

MIN_BYTES = 48 << 20  # bytes from which a second process pays off
MIN_SECONDS = 1.0  # budget from which a second process pays off
_CACHE = "PRAGMA cache_size=-4000"  # KiB of pages, in each process: rows come in the order of their ids


def build(
    index: IndexFiles,
    states: Sequence[ChangedFiles],
    budget: float | None,
    progress: Callable[[int, int], None] | None,
    jobs: int | None = None,
) -> Refreshed:
    """Read changed transcripts into the shards of an index; with `jobs` 1, or on one core, in this process.

    Other processes look for changes themselves; `states` are then emptied, because there may be many files.
    """
    total, count = sum(state.changed.size for state in states), sum(len(state.changed) for state in states)
    is_large = total >= MIN_BYTES and sum(bool(state.changed) for state in states) > 1
    is_parallel = is_large and (count_usable_cores() if jobs is None else jobs) > 1
    if is_parallel and index.folder and (budget is None or budget > MIN_SECONDS):
        for state in states:
            state.changed.clear()
        done, has_failed = _build_in_parallel(index, total, budget, progress)
        if has_failed:  # build here, so that the error is raised in this process
            states = list(find_changed_files(dict(enumerate(index.shards)), index.root, []).values())
            finished = count - sum(len(state.changed) for state in states)
            done = _build_sequentially(index, states, total, budget, progress)
            done.files += max(0, finished)
    else:
        done = _build_sequentially(index, states, total, budget, progress)
    done.left = max(0, count - done.files) if not done.is_complete else 0
    return done


def _build_sequentially(
    index: IndexFiles,
    states: Sequence[ChangedFiles],
    total: int,
    budget: float | None,
    progress: Callable[[int, int], None] | None,
) -> Refreshed:
    end = None if budget is None else time.monotonic() + budget
    done = Refreshed()
    read = 0
    for number, (shard, state) in enumerate(zip(index.shards, states, strict=True)):
        left = len(states) - number
        deadline = None if end is None else time.monotonic() + max(0.0, end - time.monotonic()) / left
        report = (lambda now, before=read: progress(before + now, total)) if progress else None
        counts = update_shard(shard, state, deadline, report)
        read += counts.bytes
        done.files += counts.files
        done.pieces += counts.pieces
        done.is_complete = done.is_complete and counts.is_complete
        done.skipped += counts.skipped
        if counts.pieces or counts.removed:
            small = time.monotonic() + MERGE_SECONDS
            merge_segments(shard, (None if end is None else deadline) if counts.bytes >= MIN_BYTES else small)
    return done


def _build_in_parallel(
    index: IndexFiles, total: int, budget: float | None, progress: Callable[[int, int], None] | None
) -> tuple[Refreshed, bool]:
    """Update each shard in a separate process. Return the result, and whether a process failed."""
    arguments = [os.path.abspath(index.root), os.path.abspath(index.folder), "" if budget is None else str(budget)]
    workers: list[Popen[str]] = []
    reports = [WorkerReport() for _ in index.shards]
    is_finished = False
    try:
        numbers = range(len(index.shards))
        workers.extend(start_clew("--index-shard", *arguments, str(number), output=True) for number in numbers)
        for worker, new in _read_reports(workers):
            reports[worker] = new
            if progress:
                progress(sum(report.bytes for report in reports), total)
        is_finished = True
    finally:
        for process in workers:
            if not is_finished:
                process.terminate()
            process.wait()
    done = Refreshed(sum(report.files for report in reports), sum(report.pieces for report in reports))
    done.is_complete = all(report.is_complete for report in reports)
    done.skipped = [path for report in reports for path in report.skipped]
    return done, any(process.returncode for process in workers)


class WorkerReport(msgspec.Struct, frozen=True):
    """What a worker has done so far; complete is only the last report."""

    bytes: int = 0
    files: int = 0
    pieces: int = 0
    is_complete: bool = False
    skipped: list[str] = []

    def print(self) -> None:
        print(msgspec.json.encode(self).decode(), flush=True)


def _read_reports(workers: Sequence[Popen[str]]) -> Iterator[tuple[int, WorkerReport]]:
    """Yield (worker, report) as the workers print them, until all have ended."""
    with selectors.DefaultSelector() as selector:
        for number, worker in enumerate(workers):
            if worker.stdout:
                selector.register(worker.stdout, selectors.EVENT_READ, (worker.stdout, number))
        while selector.get_map():
            for key, _ in selector.select():
                output, number = key.data
                line = output.readline()
                if line:
                    yield number, msgspec.json.decode(line, type=WorkerReport)
                else:
                    selector.unregister(output)
                    output.close()


def build_shard(root: str, folder: str, budget: str, number: str) -> int:
    """Update one shard; the entry point of a worker process of a large build."""
    gc.set_threshold(50_000)  # rows never form cycles; collecting them took 2.5 % of the time
    deadline = time.monotonic() + float(budget) if budget else None
    shard, _ = open_shard(os.path.join(folder, f"{number}.db"))
    run_pragmas(shard, _CACHE)
    changes = find_changed_files({int(number): shard}, root, [])[int(number)]
    counts = update_shard(shard, changes, deadline, lambda done: WorkerReport(done).print())
    merge_segments(shard, deadline)
    shard.close()
    skipped = [os.fsencode(path).decode("utf-8", "replace") for path in counts.skipped]
    WorkerReport(counts.bytes, counts.files, counts.pieces, counts.is_complete, skipped).print()
    return 0
