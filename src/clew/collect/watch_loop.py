"""Watching: when the next poll is due. Notifications only wake; a poll comes in any case, for they get lost.

With watchfiles (`pip install 'clew[watch]'`) a change wakes it at once, and an idle machine is left alone for a minute.
Without it, polls become rarer while nothing happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec

from clew.collect.collector import Collector
from clew.collect.job import CollectJob, collecting, locked
from clew.collect.poll_report import PollReport
from clew.errors import StoreError

_SLOWEST = 8  # times the usual interval, when nothing happens
_SAFETY = 60.0  # seconds between polls that nothing woke
_GATHER_MS = 400  # changes that come together are one


class Pace:
    """The wait before the next poll: short after something happened, longer and longer while nothing does."""

    def __init__(self, every: float) -> None:
        self.every = every
        self.wait = every

    def heard(self, report: PollReport) -> None:
        self.wait = self.every if not report.is_quiet else min(self.wait * 1.5, self.every * _SLOWEST)


def polled(pace: Pace, sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """A poll is due now, and after each wait."""
    while True:
        yield
        sleep(pace.wait)


def woken(root: str) -> Iterator[None]:
    """A poll is due now, whenever something changes below the root, and from time to time in any case."""
    from watchfiles import watch as changes

    yield
    pause = int(_SAFETY * 1000)
    for _ in changes(
        root,
        watch_filter=None,
        debounce=_GATHER_MS,
        rust_timeout=pause,
        yield_on_timeout=True,
        raise_interrupt=True,
    ):
        yield


def due(root: str, pace: Pace) -> Iterator[None]:
    return woken(root) if find_spec("watchfiles") else polled(pace)


def watch(
    job: CollectJob,
    due: Iterator[None],
    attend: Callable[[Collector], AbstractContextManager[Callable[[PollReport], None]]],
    failed: Callable[[StoreError], None],
) -> None:
    """Poll whenever it is due, until the calls stop. After a failure of the disk the archive is opened anew.

    `attend` is asked, for each collector that is opened, who is to hear its reports.
    """
    with locked(job):
        while True:
            try:
                with collecting(job) as collector, attend(collector) as hear:
                    for _ in due:
                        hear(collector.poll())
                    return
            except StoreError as error:
                if not error.retryable:
                    raise
                failed(error)
