"""Read the usage of all sessions in a thread, and keep the sums of the last state."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from datetime import date, datetime
from subprocess import Popen
from zlib import crc32
from zoneinfo import ZoneInfo

from clew.browse.archived_usage import archived_transcripts
from clew.facts.prices import load
from clew.report.collect_buckets import CollectedBuckets, collect_buckets
from clew.report.overview import Overview
from clew.report.plots import short_paths
from clew.report.timezone import Zone
from clew.report.usage_summary import cache_folder, file_states, load_summary
from clew.report.usage_table import UsageQuery, select_buckets
from clew.system.environment import cache_home
from clew.system.subprocesses import start_clew
from clew.web.app_state import AppState
from clew.wire.layout import Project
from clew.wire.tree_walk import list_transcripts

MAX_OVERVIEWS = 8  # projects whose sums are kept
OWN_PROCESS = 8 << 20  # bytes of changed transcripts from which a process of its own reads them: pages stay quick


class UsageData:
    """The usage of a folder, as `clew usage` counts it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._latest: OrderedDict[str, tuple[Hashable, Overview]] = OrderedDict()  # by project
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._process: Popen[str] | None = None
        self._is_stopped = False

    async def overview(self, zone: str, seconds: float, project: str = "") -> tuple[Overview | None, bool]:
        """Return the newest sums of all projects or of one, and whether they are of now; wait at most `seconds` for
        those of now.
        """
        key = (await asyncio.to_thread(self.state), zone, today_in(zone))
        if self._latest.get(project, (None,))[0] != key:
            if project not in self._tasks:
                self._tasks[project] = asyncio.create_task(self._update(key, zone, project))
            task = self._tasks[project]
            await asyncio.wait({task}, timeout=seconds)
            if task.done():
                self._tasks.pop(project, None)
                task.result()
        latest = self._latest.get(project)
        return (latest[1], latest[0] == key) if latest else (None, False)

    def state(self) -> int:
        """Return a number that changes with the transcripts."""
        return crc32(repr(sorted(file_states(list_transcripts(self._root, [])).items())).encode())

    def collect(self, *, per_reply: bool) -> CollectedBuckets:
        """Return the usage; wait for another process that is reading it."""
        while True:
            self._read_changes()
            found = collect_buckets(
                self._root, cache_home(), per_reply=per_reply, kept=archived_transcripts(self._root)
            )
            if not found.is_busy or self._is_stopped:
                return found

    def stop(self) -> None:
        self._is_stopped = True
        if self._process:
            self._process.terminate()

    def _read_changes(self) -> None:
        """Let a process read the transcripts that have changed, if they are large."""
        known = load_summary(cache_folder(self._root, cache_home()))
        old = known.states if known else {}
        states = file_states(list_transcripts(self._root, []))
        if not self._is_stopped and sum(s[1] for path, s in states.items() if old.get(path) != s) >= OWN_PROCESS:
            with start_clew("usage", "model", "--quiet", "--json", "--claude-dir", self._root) as process:
                self._process = process
            self._process = None

    async def _update(self, key: Hashable, zone: str, project: str) -> None:
        self._latest[project] = key, await asyncio.to_thread(self._build, zone, project)
        self._latest.move_to_end(project)
        if len(self._latest) > MAX_OVERVIEWS:
            self._latest.popitem(last=False)

    def _build(self, zone: str, project: str) -> Overview:
        is_enabled = gc.isenabled()
        gc.disable()  # a list of many replies has no cycles: looking for them takes half of the time
        try:
            query = UsageQuery(project=project)
            return self.collect(per_reply=True).read(
                lambda buckets: Overview(select_buckets(buckets, query), load(), Zone(zone), today_in(zone))
            )
        finally:
            if is_enabled:
                gc.enable()


class ProjectNames:
    """Names of project folders: as lists show them, and for addresses. Sessions tell the path of a folder."""

    def __init__(self, state: AppState, folders: Iterable[str]) -> None:
        root = state.shelf.tree.root / "projects"
        known = {each.folder: each.cwd for each in state.summaries.snapshot.summaries.values() if each.cwd}
        self._paths = {name: known.get(name) or Project(root / name).path().path for name in folders}
        self._state = state
        self.labels = {name: state.clean_text(label) for name, label in short_paths(self._paths).items()}

    def public(self, folder: str) -> str:
        """Return the name of a folder for addresses; one that contains a secret gets another name."""
        texts = (folder, self._paths.get(folder, ""))
        is_open = all(self._state.clean_text(text) == text for text in texts)
        return folder if is_open else f"folder-{crc32(folder.encode('utf-8', 'replace')):08x}"


def today_in(zone: str) -> date:
    return date.fromisoformat(Zone(zone).day(int(time.time())))


def day_start(day: date, zone: str) -> float:
    """Return the time at which a day begins in a zone."""
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone) if zone else None).timestamp()
