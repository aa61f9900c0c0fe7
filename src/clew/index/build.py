"""Building: the part of a refresh that reads transcripts. A large one is done by a process for each shard."""

from __future__ import annotations

import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from clew.index.refresh import merge, update
from clew.index.schema import open_shard, shard_of
from clew.index.search import Index, Refreshed
from clew.wire.walk import Found, walk

LARGE = 64 << 20  # bytes to read before a second process pays


def build(
    index: Index,
    groups: Sequence[list[Found]],
    changed: Sequence[list[Found]],
    budget: float | None,
    progress: Callable[[int, int], None] | None,
) -> Refreshed:
    total = sum(f.size for group in changed for f in group)
    if total >= LARGE and budget is None:
        _side_by_side(index, total, progress)
        return Refreshed(files=sum(map(len, changed)))
    deadline = None if budget is None else time.monotonic() + budget
    done = Refreshed()
    read = 0
    for shard, group in zip(index.shards, groups, strict=True):
        before = read
        hear = (lambda now, before=before: progress(before + now, total)) if progress else None
        counts = update(shard, group, deadline, hear)
        read += counts.bytes
        done.files += counts.files
        done.pieces += counts.pieces
        done.is_complete = done.is_complete and counts.is_complete
        merge(shard, deadline)
    done.left = sum(map(len, changed)) - done.files
    return done


def _side_by_side(index: Index, total: int, progress: Callable[[int, int], None] | None) -> None:
    """One process for each shard; each says how many bytes it has read."""
    command = [sys.executable, "-m", "clew.index.build", index.root, index.folder]
    workers = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True) for n in range(len(index.shards))
    ]
    read = [0] * len(workers)
    try:
        for number, worker in _told(workers):
            read[worker] = number
            if progress:
                progress(sum(read), total)
    finally:
        for process in workers:
            process.terminate()
            process.wait()


def _told(workers: Sequence[subprocess.Popen[str]]) -> Iterator[tuple[int, int]]:
    """(bytes read, worker) as the workers say it, until all have ended."""
    waiting = selectors.DefaultSelector()
    for number, worker in enumerate(workers):
        if worker.stdout:
            waiting.register(worker.stdout, selectors.EVENT_READ, (worker.stdout, number))
    while waiting.get_map():
        for key, _ in waiting.select():
            output, number = key.data
            line = output.readline()
            if line:
                yield int(line), number
            else:
                waiting.unregister(output)


def main(root: str, folder: str, number: str) -> int:
    """Bring one shard up to date: what a process of a large build does."""
    shard, _ = open_shard(f"{folder}/{number}.db")
    files = [f for f in walk(root) if shard_of(f.session, f.path) == int(number)]
    update(shard, files, progress=lambda done: print(done, flush=True))
    merge(shard, None)
    shard.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
