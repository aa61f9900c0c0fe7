"""A collector as a process of its own, for those who mean to kill it.

python -m tests.collect.worker ROOT ARCHIVE SINK [POLLS]
"""

from __future__ import annotations

import itertools
import sys
import time

from clew.collect.config import SinkConfig
from clew.collect.job import CollectJob, lock_archive, open_collector
from clew.collect.sinks.address import deliveries


def work(root: str, archive: str, sink: str, polls: int | None = None) -> None:
    """Poll and deliver, again and again or so many times."""
    job = CollectJob(root, archive)
    with (
        lock_archive(job),
        open_collector(job) as collector,
        deliveries(collector, [SinkConfig(sink, reveal=True)]) as waiting,
    ):
        for _ in itertools.count() if polls is None else range(polls):
            collector.poll()
            for delivery in waiting:
                delivery.run(time.monotonic())


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else None)
