"""Keep the summaries of all sessions in memory, and refresh them in a thread; a large refresh runs in its own process."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from clew.browse.archived_usage import archived_transcripts
from clew.report.session_summary import SessionSummary
from clew.report.summary_store import SummaryStore
from clew.system.environment import cache_home, claude_home
from clew.system.subprocesses import start_clew
from clew.wire.tree_walk import TranscriptFile, list_transcripts

OWN_PROCESS = 8 << 20  # effort (`SummaryStore.effort`) from which a process of its own reads the changed sessions
FIRST_SECONDS = 5.0  # to wait for the list of files
MAX_PAUSE = 5.0  # seconds between two updates of the costs
RELOAD_SECONDS = 1.5  # between two looks at what that process has stored
NICENESS = 10  # of that process


class SummarySnapshot(NamedTuple):
    """The sessions at one moment. `files` are all session files that are not empty, by path; `summaries` lacks those
    that have not been read yet. `done` and `total` are bytes of the current refresh. `version` changes with the content.
    """

    version: int = 0
    files: dict[str, TranscriptFile] = {}  # noqa: RUF012 - never changed
    summaries: dict[str, SessionSummary] = {}  # noqa: RUF012 - never changed
    done: int = 0
    total: int = 0

    @property
    def is_complete(self) -> bool:
        return not self.total

    @property
    def is_loaded(self) -> bool:
        """Whether all sessions were read once, so that only news are worth waiting for."""
        return bool(self.version) and self.is_complete

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 100


def _is_any(_: str) -> bool:
    return True


class SummaryThread:
    """Refreshes when asked; `snapshot` is the newest state and can be read from any thread. `holds` selects files."""

    def __init__(
        self, claude: str | None = None, cache: str | None = None, *, holds: Callable[[str], bool] = _is_any
    ) -> None:
        self.snapshot = SummarySnapshot()
        self._root, self._cache, self._holds = claude_home(claude), cache or cache_home(), holds
        self._wanted, self._costs_wanted = threading.Event(), threading.Event()
        self._changed = threading.Condition()
        self._asked = self._answered = 0  # how often a refresh was asked for, and up to which one it was done
        self._refreshed = self.looked = -1e9  # when the last look began, and the last one whose result is known
        self._has_looked = False
        self.is_in_process = False  # whether another process reads: until it is done, nothing is worth waiting for
        self._settled: list[TranscriptFile] | None = None  # the files of a look that found nothing to read
        self._is_stopped = False
        self._threads: list[threading.Thread] = []
        self._has_new_costs = False  # whether they are in the store, but not in the snapshot

    def refresh(self, min_age: float = 0.0) -> None:
        """Look for changes, unless that was done less than `min_age` seconds ago."""
        with self._changed:
            if not self._threads and not self._is_stopped:
                jobs = (("clew-summaries", self._run), ("clew-costs", self._run_costs))
                self._threads = [threading.Thread(target=job, daemon=True, name=name) for name, job in jobs]
                for thread in self._threads:
                    thread.start()
        if time.monotonic() - self._refreshed >= min_age:
            self._wanted.set()

    def current(self, seconds: float = 0.1, max_age: float = 0.0) -> SummarySnapshot:
        """Look for changes, wait at most `seconds` for them, and return the newest snapshot. It blocks the thread.

        If the last look began less than `max_age` seconds ago, its result is good enough. The first time it waits until
        the files are known.
        """
        if self._has_looked and time.monotonic() - self._refreshed < max_age:
            return self.snapshot
        with self._changed:
            self._asked += 1
            number = self._asked
        self.refresh()
        with self._changed:
            self._changed.wait_for(lambda: self._answered >= number or self._is_stopped, seconds)
            self._changed.wait_for(lambda: self._has_looked or self._is_stopped, FIRST_SECONDS)
        return self.snapshot

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        self._wanted.set()
        self._costs_wanted.set()
        for thread in self._threads:
            thread.join(0.3)

    def _run(self) -> None:
        store = SummaryStore(self._root, self._cache)
        try:
            self._publish(summaries=self._load(store))
            while not self._is_stopped:
                if self._has_new_costs:
                    self._has_new_costs = False
                    self._publish(summaries=self._load(store))
                self._refreshed = time.monotonic()
                self._refresh(store)
                self._wanted.wait()
                self._wanted.clear()
        finally:
            store.close()

    def _run_costs(self) -> None:
        """Update the costs after changes: they depend on all sessions, so they take longer than one summary."""
        store = SummaryStore(self._root, self._cache)
        try:
            self._costs_wanted.wait()
            while not self._is_stopped:
                self._costs_wanted.clear()
                started = time.monotonic()
                if store.update_costs(archived_transcripts(self._root)):
                    self._has_new_costs = True
                    self._wanted.set()
                time.sleep(min(MAX_PAUSE, time.monotonic() - started))  # at most half of a core
                self._costs_wanted.wait()
        finally:
            store.close()

    def _load(self, store: SummaryStore) -> dict[str, SessionSummary]:
        """Return the stored summaries. One that is as before is the same object, so that nobody makes its row again."""
        files, before = self.snapshot.files, self.snapshot.summaries
        return {
            path: old if (old := before.get(path)) is not None and (old is summary or old == summary) else summary
            for path, summary in store.load().items()
            if path in files or self._holds(path)  # resolving the links of thousands of paths takes long
        }

    def _refresh(self, store: SummaryStore) -> None:
        with self._changed:
            number = self._asked
        missed: list[str] = []
        files = list_transcripts(self._root, missed)
        if files == self._settled:
            self._answer(number)
            self._costs_wanted.set()  # prices may have changed
            return
        before, loaded = self.snapshot.files, () if self._has_looked else self.snapshot.summaries
        mine = {
            path: file
            for file in files
            if not file.agent
            and file.size
            and ((path := file.path) in loaded or before.get(path) == file or self._holds(path))
        }
        changed = store.changed(files)
        total = sum(file.size for file in changed)
        if not self._has_looked:
            self._publish(files=mine, total=total)
            with self._changed:
                self._has_looked = True
                self._changed.notify_all()
        if store.folder and store.effort(changed) >= OWN_PROCESS:
            self._publish(files=mine, total=total)
            self.is_in_process = True
            self._answer(number)
            self._refresh_in_process(store)
            self.is_in_process = False
            self._publish(summaries=self._load(store))
        elif changed or mine != self.snapshot.files or not self.snapshot.is_complete:
            fresh = store.update(files, changed, is_whole=not missed)
            known = {path: summary for path, summary in self.snapshot.summaries.items() if path in mine}
            held = {path: summary for path, summary in fresh.items() if path in mine}
            self._publish(files=mine, summaries=known | held)
        self._settled = None if changed or missed else files
        self._answer(number)
        self._costs_wanted.set()

    def _refresh_in_process(self, store: SummaryStore) -> None:
        """Let another process read the sessions, and publish now and then what it has stored."""
        loaded = time.monotonic()
        with start_clew("--summaries", store.root, self._cache, output=True) as process:
            for line in process.stdout or ():
                done, total = map(int, line.split())
                if self._is_stopped:
                    process.terminate()
                elif time.monotonic() - loaded >= RELOAD_SECONDS:
                    self._publish(summaries=self._load(store), done=done, total=total)
                    loaded = time.monotonic()

    def _publish(
        self,
        files: dict[str, TranscriptFile] | None = None,
        summaries: dict[str, SessionSummary] | None = None,
        done: int = 0,
        total: int = 0,
    ) -> None:
        old = self.snapshot
        new = SummarySnapshot(
            old.version,
            old.files if files is None else files,
            old.summaries if summaries is None else summaries,
            done,
            total,
        )
        if new != old:
            self.snapshot = new._replace(version=old.version + 1)

    def _answer(self, number: int) -> None:
        with self._changed:
            self._answered, self.looked = number, self._refreshed
            self._changed.notify_all()


def build_summaries(root: str, cache: str) -> int:
    """Refresh the store of a folder, and print the progress: the work of the process for a large refresh.

    It leaves the processors to the pages that wait for it, and to everybody else.
    """
    if sys.platform != "win32":
        os.nice(NICENESS)
    store = SummaryStore(root, cache)
    store.refresh(lambda done, total: print(done, total, flush=True), archived_transcripts(root))
    store.close()
    return 0
