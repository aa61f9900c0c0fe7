"""Measuring: a job in a process of its own, its CPU seconds and its peak memory, and two jobs as a ratio."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """The best of some rounds; `result` is what the job answered, the same in each of them."""

    cpu: float
    wall: float
    rss_mb: float
    result: Any


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement, with the limit that it is held to."""

    what: str
    value: float
    unit: str
    limit: str = ""
    is_met: bool = True

    def __str__(self) -> str:
        return f"{'ok ' if self.is_met else 'NO '} {self.what:<60} {self.value:8.2f} {self.unit:<6} {self.limit}"


@dataclass(frozen=True, slots=True)
class Note:
    """What a number cannot say, as that something was not measured, and why."""

    text: str
    is_met: bool = True

    def __str__(self) -> str:
        return f"    {self.text}"


def print_lines(lines: Iterable[Line | Note]) -> int:
    """Print measurements as they are made; the exit code of the benchmark: 1 if a limit was missed."""
    missed = 0
    for line in lines:
        print(line, flush=True)
        missed += not line.is_met
    return 1 if missed else 0


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


def cpu_of(arguments: Sequence[str], times: int = ROUNDS, environment: dict[str, str] | None = None) -> float:
    """The CPU seconds of a command, the best of some rounds."""
    best = float("inf")
    for _ in range(times):
        before = children_cpu()
        subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=environment)
        best = min(best, children_cpu() - before)
    return best


def children_cpu() -> float:
    """The CPU seconds of all processes that were started from here and have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def start_of(arguments: Sequence[str], **environment: str) -> float:
    """A command's CPU time ÷ that of an interpreter that does nothing.

    Modules are compiled, as an installer leaves them, whatever the environment says about that.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    given = {**kept, **environment}
    commands = (arguments, [sys.executable, "-c", "pass"])
    rounds = [[cpu_of(command, 1, given) for command in commands] for _ in range(20)]  # the first of them compiles
    return min(ours for ours, _ in rounds) / min(nothing for _, nothing in rounds)


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
