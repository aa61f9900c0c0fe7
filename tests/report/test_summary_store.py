"""The store of summaries: several connections at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clew.report.summary_store import SummaryStore


def test_two_threads_may_create_the_store_at_the_same_time(tmp_path: Path) -> None:
    """SQLite fails without waiting if two connections switch to a write-ahead log together: about once in twenty."""

    def create(number: int, start: threading.Barrier) -> None:
        start.wait()
        SummaryStore(str(tmp_path), str(tmp_path / str(number))).close()

    with ThreadPoolExecutor(2) as pool:
        for number in range(60):
            start = threading.Barrier(2)
            for done in [pool.submit(create, number, start) for _ in range(2)]:
                done.result()
