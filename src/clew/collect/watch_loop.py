"""Poll repeatedly: after file-system notifications, and at intervals because notifications can get lost.

With watchfiles (extra `stores`) a change triggers a poll immediately, and an idle machine is polled
once a minute. Without it, the interval grows while nothing changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec

from clew.collect.collector import Collector
from clew.collect.job import CollectJob, lock_archive, open_collector
from clew.collect.poll_report import PollReport
from clew.errors import StoreError

_MAX_SLOWDOWN = 8  # times the configured interval, while nothing changes
_FALLBACK_SECONDS = 60.0  # seconds between polls without a notification
_DEBOUNCE_MS = 400  # changes within this time trigger one poll


class Pace:
    """The wait before the next poll: short after a change, growing while nothing changes.

    With a backlog there is no wait: a sink accepts records, and more are waiting.
    """

    def __init__(self, every: float) -> None:
        self.every = every
        self.wait = every
        self.has_backlog = False

    def update(self, report: PollReport) -> None:
        self.wait = self.every if not report.is_quiet else min(self.wait * 1.5, self.every * _MAX_SLOWDOWN)


def poll_times(pace: Pace, sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Yield when a poll is due: now, and after each wait."""
    while True:
        yield
        if not pace.has_backlog:
            sleep(pace.wait)


def notified_times(root: str, pace: Pace) -> Iterator[None]:
    """Yield when a poll is due: now, after each change below the root, at least once a minute, and during a backlog."""
    from watchfiles import watch as changes

    yield
    while pace.has_backlog:
        yield
    pause = int(_FALLBACK_SECONDS * 1000)
    for _ in changes(
        root,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        rust_timeout=pause,
        yield_on_timeout=True,
        raise_interrupt=True,
    ):
        yield
        while pace.has_backlog:
            yield


def due_times(root: str, pace: Pace) -> Iterator[None]:
    return notified_times(root, pace) if find_spec("watchfiles") else poll_times(pace)


def watch(
    job: CollectJob,
    due: Iterator[None],
    attend: Callable[[Collector], AbstractContextManager[Callable[[PollReport], None]]],
    failed: Callable[[StoreError], None],
) -> None:
    """Poll whenever `due` yields, until it ends. After a disk failure the archive is opened again.

    `attend` is called for each opened collector and returns the function that receives its reports.
    """
    with lock_archive(job):
        while True:
            try:
                with open_collector(job) as collector, attend(collector) as handle_report:
                    for _ in due:
                        handle_report(collector.poll())
                    return
            except StoreError as error:
                if not error.retryable:
                    raise
                failed(error)
