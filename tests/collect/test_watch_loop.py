"""Watching: polls that come when they are due, and go on after a failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from clew.collect.archive.reader import Archive
from clew.collect.collector import Collector
from clew.collect.job import CollectJob
from clew.collect.poll_report import PollReport
from clew.collect.watch_loop import Pace, notified_times, poll_times, watch
from clew.errors import StoreError
from tests.collect.collect_fixture import line, session

ONE = session(1)


@pytest.fixture
def job(tmp_path: Path) -> CollectJob:
    (tmp_path / "claude" / ONE).parent.mkdir(parents=True)
    return CollectJob(str(tmp_path / "claude"), str(tmp_path / "archive" / "archive.db"))


def long_line(number: int) -> bytes:
    """A line that needs pages of its own, however it is packed."""
    return line(number, "".join(sha256(bytes([number, part])).hexdigest() for part in range(250)))


def grown(job: CollectJob, count: int) -> Iterator[None]:
    """A poll is due each time after a line was written."""
    for number in range(count):
        with open(Path(job.root, ONE), "ab") as file:
            file.write(long_line(number))
        yield


def test_each_poll_takes_what_came(job: CollectJob) -> None:
    heard: list[int] = []

    @contextmanager
    def attend(collector: Collector) -> Iterator[Callable[[PollReport], None]]:
        yield lambda report: heard.append(report.lines)

    watch(job, grown(job, 5), attend, lambda error: None)
    assert heard == [1, 1, 1, 1, 1]


def test_a_full_disk_loses_nothing_and_the_next_poll_goes_on(job: CollectJob) -> None:
    """The archive is opened anew after the failure, and takes what it could not."""
    failures: list[str] = []
    collectors: list[Collector] = []

    @contextmanager
    def attend(collector: Collector) -> Iterator[Callable[[PollReport], None]]:
        if not collectors:  # the disk has no room for another page
            collector.connection.pragma("max_page_count", collector.connection.pragma("page_count"))
        collectors.append(collector)
        yield lambda report: None

    watch(job, grown(job, 3), attend, lambda error: failures.append(error.kind))
    assert (failures, len(collectors)) == (["full"], 2)
    with Archive.open(job.archive) as archive:
        [file] = archive.files()
        assert archive.read(file) == b"".join(map(long_line, range(3)))


def test_a_failure_that_will_not_pass_ends_it(job: CollectJob) -> None:
    @contextmanager
    def attend(collector: Collector) -> Iterator[Callable[[PollReport], None]]:
        collector.connection.execute("PRAGMA query_only=1")
        yield lambda report: None

    with pytest.raises(StoreError, match="not writable"):
        watch(job, grown(job, 3), attend, lambda error: None)


def test_polls_become_rarer_while_nothing_happens() -> None:
    waits: list[float] = []
    pace = Pace(2.0)
    due = poll_times(pace, waits.append)
    for _ in range(10):
        next(due)
        pace.update(PollReport())
    assert waits[0] == 3.0
    assert waits == sorted(waits)
    assert waits[-1] == 16.0
    pace.update(PollReport(lines=1))
    next(due)
    assert waits[-1] == 2.0


def test_a_change_wakes_the_watcher(job: CollectJob) -> None:
    pytest.importorskip("watchfiles")
    due = notified_times(job.root, Pace(2.0))
    next(due)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.wait(0.05):
            Path(job.root, ONE).write_bytes(line(number))
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        next(due)
    finally:
        stop.set()
        writer.join()


def test_a_backlog_is_not_waited_for() -> None:
    waits: list[float] = []
    pace = Pace(2.0)
    due = poll_times(pace, waits.append)
    next(due)
    pace.has_backlog = True
    next(due)
    next(due)
    assert waits == []
    pace.has_backlog = False
    next(due)
    assert waits == [2.0]
