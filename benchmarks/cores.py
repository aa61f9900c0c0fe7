"""Cores: what commands over all sessions gain from a second process, and how much of their work stays in the first.

python -m benchmarks.cores [--size 300M] [--keep DIR]

Each command runs with `--jobs 1` and with a process for each core. The answers must be equal. The serial share is the CPU
time of the process that the user started ÷ that of all its processes; on n cores the wall time is at least
serial + (1 - serial) / n of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import generate, parse_size
from benchmarks.measure import Line, Note, print_lines

SERIAL = 0.08  # of the CPU time
SPREAD = 0.55  # wall ÷ CPU on two cores
PAGES = "{pages}"  # stands for a folder that is new in each run
QUICK = ("usage",)  # on the whole tree; the others take long enough on a smaller one
COMMANDS = {
    "usage": ("usage", "-q", "--json"),
    "search, first index": ("search", "-q", "--json", "error"),
    "check --all": ("check", "--all", "-q", "--json"),
    "export of 200 sessions": ("export", "--limit", "200", "-q", "--json", "-o", PAGES),
    "collect, first poll": ("collect", "-q", "--json"),
}
SPREADING = ("usage", "check --all")  # at most two processes build an index, and at most four read for an archive

_RUN = """
import json, resource, sys
from clew.cli import main
target, *sys.argv[1:] = sys.argv[1:]
try:
    main()
except SystemExit:
    pass
spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
with open(target, "w") as file:
    json.dump([use.ru_utime + use.ru_stime for use in spent], file)
"""


class SpreadRun(NamedTuple):
    """One command: the CPU seconds of its first process and of the others, the wall time, and a hash of its answer and of
    the files that it wrote.
    """

    own: float
    others: float
    wall: float
    answer: str


def measure(root: Path, smaller: Path, scratch: Path) -> Iterator[Line | Note]:
    """Run each command on a tree, or on a smaller one if it would take minutes there."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    for name, words in COMMANDS.items():
        tree = root if name in QUICK else smaller
        alone, spread = (_run([*words, "--jobs", str(jobs)], tree, scratch) for jobs in (1, cores))
        yield Line(f"{name}: CPU with {cores} processes ÷ with one", _cpu(spread) / _cpu(alone), "×")
        share = spread.own / _cpu(spread)
        yield Line(f"{name}: serial share of the CPU", 100 * share, "%", f"≤ {100 * SERIAL:.0f}", share <= SERIAL)
        if cores == 2:
            ratio = spread.wall / _cpu(spread)
            yield Line(f"{name}: wall ÷ CPU on two cores", ratio, "×", f"≤ {SPREAD}", ratio <= SPREAD)
        for count in (8, 16) if name in SPREADING else ():
            yield Line(f"{name}: wall on {count} cores ÷ on one, computed", share + (1 - share) / count, "×")
        if alone.answer != spread.answer:
            yield Note(f"{name}: the answer depends on the number of processes", is_met=False)


def _cpu(run: SpreadRun) -> float:
    return run.own + run.others


def _run(words: Sequence[str], root: Path, scratch: Path) -> SpreadRun:
    """Run a command without any cache."""
    homes = scratch / "homes"
    shutil.rmtree(homes, ignore_errors=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLAUDE", "XDG_"))}
    given = {f"XDG_{kind}_HOME": str(homes / kind.lower()) for kind in ("CACHE", "DATA", "CONFIG", "STATE")}
    times, pages = scratch / "times.json", homes / "pages"
    words = [str(pages) if word == PAGES else word for word in words]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(times), *words, "--claude-dir", str(root)],
        env={**kept, **given},
        capture_output=True,
        check=True,
    )
    wall = time.perf_counter() - start
    own, others = json.loads(times.read_text())
    answer = hashlib.sha256(re.sub(rb'"score":[0-9.]+', b"", done.stdout))  # a score falls with the age of its session
    for page in sorted(pages.glob("*")):
        answer.update(page.read_bytes())
    return SpreadRun(own, others, wall, answer.hexdigest())


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how commands use the cores.")
    parser.add_argument("--size", type=parse_size, default=300_000_000)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "claude"
        if not (root / "projects").exists():
            generate(root, options.size, 1)
        return print_lines(measure(root, root, Path(scratch)))


if __name__ == "__main__":
    sys.exit(main())
