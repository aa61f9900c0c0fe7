"""Measuring: a job in a process of its own, its CPU seconds and its peak memory, and two jobs as a ratio."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """The best of some rounds; `result` is what the job answered, the same in each of them."""

    cpu: float
    wall: float
    rss_mb: float
    result: Any


def in_process(job: str, *arguments: str) -> Measured:
    """Run `benchmarks.jobs:<job>` once in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure", job, *arguments], capture_output=True, text=True, check=True
    )
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def interleaved(*jobs: Sequence[str]) -> list[Measured]:
    """Run jobs in turns, so that a noisy neighbour disturbs them alike; of each the best round."""
    rounds = [[in_process(*job) for job in jobs] for _ in range(ROUNDS)]
    return [min(column, key=lambda m: m.cpu) for column in zip(*rounds, strict=True)]


def command(arguments: Sequence[str], times: int = 15) -> float:
    """The median wall seconds of a command."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        spent.append(time.perf_counter() - start)
    return median(spent)


def cpu_of(arguments: Sequence[str]) -> float:
    """The CPU seconds of a command, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def transcripts(root: str | os.PathLike[str]) -> list[str]:
    return sorted(str(p) for p in (Path(root) / "projects").rglob("*.jsonl"))


def main() -> None:
    from benchmarks import jobs

    name, *arguments = sys.argv[1:]
    job: Callable[..., Any] = getattr(jobs, name)
    prepared = job(*arguments)
    wall, cpu = time.perf_counter(), time.process_time()
    result = prepared() if callable(prepared) else prepared
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "linux" else 1024) / 1024
    print(json.dumps({"cpu": cpu, "wall": wall, "rss_mb": peak, "result": result}))


if __name__ == "__main__":
    main()
