"""Building: the part of a refresh that reads transcripts. A large one is done by a process for each shard."""

from __future__ import annotations

import gc
import os
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from subprocess import Popen

from clew.index.changed_files import ChangedFiles, state_of
from clew.index.index_schema import open_shard, shard_of
from clew.index.refresh import IDLE, merge, update
from clew.index.results import Refreshed
from clew.index.session_index import Index
from clew.system.subprocesses import start_clew
from clew.wire.tree_walk import walk

LARGE = 48 << 20  # bytes to read before a second process pays
SHORT = 1.0  # seconds in which it does not


def build(
    index: Index,
    states: Sequence[ChangedFiles],
    budget: float | None,
    progress: Callable[[int, int], None] | None,
) -> Refreshed:
    """Read what has changed into the shards of an index."""
    total = sum(state.size for state in states)
    many = total >= LARGE and sum(bool(state.changed) for state in states) > 1
    if many and index.folder and (budget is None or budget > SHORT):
        done, has_failed = _side_by_side(index, total, budget, progress)
        if has_failed:  # then the reason is to be heard here
            done = _in_turn(index, states, total, budget, progress)
    else:
        done = _in_turn(index, states, total, budget, progress)
    done.left = max(0, sum(len(state.changed) for state in states) - done.files) if not done.is_complete else 0
    return done


def _in_turn(
    index: Index,
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
        hear = (lambda now, before=read: progress(before + now, total)) if progress else None
        counts = update(shard, state, deadline, hear)
        read += counts.bytes
        done.files += counts.files
        done.pieces += counts.pieces
        done.is_complete = done.is_complete and counts.is_complete
        done.skipped += counts.skipped
        if counts.pieces or counts.removed:
            small = time.monotonic() + IDLE
            merge(shard, (None if end is None else deadline) if counts.bytes >= LARGE else small)
    return done


def _side_by_side(
    index: Index, total: int, budget: float | None, progress: Callable[[int, int], None] | None
) -> tuple[Refreshed, bool]:
    """Update each shard in a process of its own, which reports its progress; and whether one failed."""
    words = [os.path.abspath(index.root), os.path.abspath(index.folder), "" if budget is None else str(budget)]
    workers: list[Popen[str]] = []
    told: list[list[int]] = [[0, 0, 0, 0] for _ in index.shards]
    is_over = False
    try:
        numbers = range(len(index.shards))
        workers.extend(start_clew("--index-shard", *words, str(number), output=True) for number in numbers)
        for worker, counts in _told(workers):
            told[worker] = counts
            if progress:
                progress(sum(each[0] for each in told), total)
        is_over = True
    finally:
        for process in workers:
            if not is_over:
                process.terminate()
            process.wait()
    done = Refreshed(sum(each[1] for each in told), sum(each[2] for each in told))
    done.is_complete = all(each[3] for each in told)
    return done, any(process.returncode for process in workers)


def _told(workers: Sequence[Popen[str]]) -> Iterator[tuple[int, list[int]]]:
    """(worker, [bytes, files, pieces, is it complete]) as the workers say it, until all have ended."""
    with selectors.DefaultSelector() as waiting:
        for number, worker in enumerate(workers):
            if worker.stdout:
                waiting.register(worker.stdout, selectors.EVENT_READ, (worker.stdout, number))
        while waiting.get_map():
            for key, _ in waiting.select():
                output, number = key.data
                line = output.readline()
                if line:
                    yield number, [int(word) for word in line.split()]
                else:
                    waiting.unregister(output)
                    output.close()


def build_shard(root: str, folder: str, budget: str, number: str) -> int:
    """Bring one shard up to date: what a process of a large build does."""
    gc.set_threshold(50_000)  # rows are made and dropped, none in cycles: looking for those took a fortieth of the time
    deadline = time.monotonic() + float(budget) if budget else None
    shard, _ = open_shard(os.path.join(folder, f"{number}.db"))
    missed: list[str] = []
    files = [f for f in walk(root, missed) if shard_of(f.session, f.path) == int(number)]
    counts = update(shard, state_of(shard, files, not missed), deadline, lambda done: print(done, 0, 0, 0, flush=True))
    merge(shard, deadline)
    shard.close()
    print(counts.bytes, counts.files, counts.pieces, int(counts.is_complete), flush=True)
    return 0
