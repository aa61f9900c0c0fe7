"""Measure a command with all processes that it starts: CPU time, wall time, and the memory of all of them together."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

INTERVAL = 0.02  # seconds between two looks at the memory
SHARE = 5  # a look at 1 GB takes 20 ms of a core: the next one waits this many times as long


class TreeRun(NamedTuple):
    """One command, from its start to its end."""

    cpu: float
    wall: float
    total_mb: float  # peak of the sum over its processes; shared pages count once


def measure_command(command: Sequence[str], environment: Mapping[str, str], accepted: Sequence[int] = (0,)) -> TreeRun:
    """Run a command in a session of its own, so that its workers can be found. Any other exit code is an error."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        sampler = MemorySampler(process.pid)
        sampler.start()
        _, status, spent = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        sampler.stop()
        if process.returncode not in accepted:
            errors.seek(0)
            raise RuntimeError(f"{command[1]} failed: {errors.read().decode(errors='replace')[-300:]}")
    own = spent.ru_maxrss / (1 if sys.platform == "linux" else 1024) / 1024
    return TreeRun(spent.ru_utime + spent.ru_stime, wall, max(sampler.peak_mb, 0.0) or own)


class MemorySampler(threading.Thread):
    """Add up the memory of the processes of one session again and again; only where /proc tells it."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self.session, self.peak_mb = session, 0.0
        self._ended = threading.Event()

    def run(self) -> None:
        taken = 0.0
        while not self._ended.wait(pause_after(taken)):
            start = time.thread_time()
            kilobytes = sum(map(_proportional_set, _processes(self.session)))
            self.peak_mb = max(self.peak_mb, kilobytes / 1024)
            taken = time.thread_time() - start

    def stop(self) -> None:
        self._ended.set()
        self.join()


def pause_after(taken: float) -> float:
    """Return how long to wait after a look that took `taken` seconds of CPU.

    The kernel walks all pages of a process for it: without a longer pause the measurement of 2 GB takes as much CPU as the
    command, from the same cores and caches.
    """
    return max(INTERVAL, SHARE * taken)


def _processes(session: int) -> list[int]:
    found = []
    for entry in os.scandir("/proc") if Path("/proc/self/stat").exists() else ():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == session:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _proportional_set(process: int) -> int:
    """The kilobytes of a process, with pages that are shared divided among those that share them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
