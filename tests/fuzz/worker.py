"""The fuzzer itself: mutated files one after the other, some runs on each, and what went wrong."""

from __future__ import annotations

import gc
import random
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzz.runs import OTHERS, RUNS, Hangs, place, run
from tests.fuzz.world import Case, Seeds, settle

SLOW = (
    "pages",
    "library",
    "tools",
    "export --format html",
    "replay {id} --record",
    "collect",
    "repair",
    "redact",
    "sql --views",
)
SELDOM = 0.2
PATIENCE = 30  # seconds after which a run hangs


@dataclass
class Found:
    """What a run of the fuzzer found. `failures` has an example for each place."""

    files: int = 0
    runs: int = 0
    hangs: int = 0
    seconds: float = 0
    peak: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)

    def summary(self) -> str:
        lines = [f"{self.files} files, {self.runs} runs, {sum(self.counts.values())} exceptions, {self.hangs} hangs"]
        lines[0] += f", {self.seconds:.0f} s, peak memory {self.peak / 1e6:.0f} MB"
        lines += [f"{count:6} {where}\n{self.failures[where]}" for where, count in self.counts.most_common()]
        return "\n".join(lines)


def fuzz(
    folder: Path,
    *,
    seeds: Iterable[int],
    runs: int = 6,
    seconds: float = 60,
    only: str = "",
    keep: Path | None = None,
) -> Found:
    """Mutate a file for each seed, and make some runs on it (0: all), until the time is over."""
    found = Found()
    made = Seeds(folder)
    signal.signal(signal.SIGALRM, _alarm)
    start = time.monotonic()
    every = [what for what in (*RUNS, *OTHERS) if what.startswith(only)]
    for seed in seeds:
        if time.monotonic() - start > seconds:
            break
        home = folder / f"case{seed}"
        home.mkdir()
        settle(home)
        case = made.case(seed, home)
        chance = random.Random(seed)
        for what in every if not runs or runs >= len(every) else _chosen(chance, every, runs):
            _once(case, what, found, keep)
        found.files += 1
        settle(folder)
        shutil.rmtree(home, ignore_errors=True)
        if not seed % 50:
            gc.collect()
    found.seconds = time.monotonic() - start
    found.peak = _peak_memory()
    return found


def _peak_memory() -> int:
    """In bytes. What getrusage says includes the process that started this one, so Linux is asked otherwise."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * next(int(row.split()[1]) for row in status.read_text().splitlines() if row.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _chosen(chance: random.Random, every: list[str], count: int) -> list[str]:
    """Some runs; those that take many times as long as the others are made more seldom."""
    return [each for each in chance.sample(every, count) if not each.startswith(SLOW) or chance.random() < SELDOM] or [
        "ls"
    ]


def _once(case: Case, what: str, found: Found, keep: Path | None) -> None:
    signal.alarm(PATIENCE)
    try:
        report = run(case, what)
    except Hangs:
        report = f"{what}: hangs"
        found.hangs += 1
    finally:
        signal.alarm(0)
    found.runs += 1
    if report:
        where = place(report)
        found.counts[where] += 1
        if where not in found.failures:
            print(f"{where}: seed {case.seed}, clew {what}", file=sys.stderr, flush=True)
            found.failures[where] = f"seed {case.seed}, {case.mutated.name}: clew {what}\n{report[-1500:]}"
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{case.seed}-{case.mutated.name}").write_bytes(case.data)


def _alarm(signum: int, frame: FrameType | None) -> None:
    raise Hangs
