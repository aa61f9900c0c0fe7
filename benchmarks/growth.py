"""Growth: what commands take on trees and sessions of growing size, as curves.

python -m benchmarks.growth [--only trees|sessions|files] [--trees 100M 1G 10G] [--sessions 1M … 1G] [--files 10 … 100000]
                            [--keep build/growth] [--plots docs] [--draw]

Each point is one run of the command as a user starts it, with all of its processes. A curve is held to its last step: with n
times the input a command takes at most n^1.15 times the CPU. Memory of a pass over a tree is held to 150 MB.

The results are in `results.json` of the kept folder, after each size: a run that was interrupted continues at the first
size that is missing there. `--draw` only draws them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import parse_size
from benchmarks.growth_plot import Curve, Point, growth_plot
from benchmarks.growth_trees import files_of, session_of, tree_of
from benchmarks.measure import Line, transcripts
from benchmarks.process_tree import TreeRun, measure_command

STEEPEST = 1.15  # exponent of the last step of a curve
CHUNK = 1 << 20  # bytes
MEMORY = 150  # MB of a pass over a tree

CLEW = str(Path(sys.executable).with_name("clew"))


class Place(NamedTuple):
    """A tree, its largest session and the project of that, and where clew keeps its caches."""

    root: Path
    session: str
    project: str
    cache: Path

    def run(self, *words: str, accepted: Sequence[int] = (0,)) -> TreeRun:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLAUDE"))}
        homes = {f"XDG_{kind}_HOME": str(self.cache / kind.lower()) for kind in ("CACHE", "DATA", "CONFIG", "STATE")}
        return measure_command([CLEW, *words, "--claude-dir", str(self.root)], {**kept, **homes}, accepted)


Steps = dict[str, Callable[[Place], TreeRun]]
BULK: Steps = {  # in this order: the first ones fill the caches that the others read
    "usage, first time": lambda place: place.run("usage", "-q"),
    "usage, nothing new": lambda place: place.run("usage", "-q"),
    "usage by session": lambda place: place.run("usage", "-q", "session", "--json"),
    "search, first index": lambda place: place.run("search", "-q", "error"),
    "search, nothing new": lambda place: place.run("search", "-q", "error"),
    "ls": lambda place: place.run("ls", "-q"),
    "ls, every session": lambda place: place.run("ls", "-q", "--limit", "1000000", "--json"),
    "show": lambda place: place.run("show", "-q", place.session),
    "collect, first time": lambda place: place.run("collect", "-q"),
    "collect, nothing new": lambda place: place.run("collect", "-q"),
    "collect verify": lambda place: place.run("collect", "verify", "-q"),
    "sql, first time": lambda place: place.run("sql", "-q", "SELECT count(*) FROM sessions"),
    "check --all": lambda place: place.run("check", "--all", "-q", accepted=(0, 2)),
}
SESSION: Steps = {
    "usage": lambda place: place.run("usage", "-q"),
    "show --full": lambda place: place.run("show", "--full", "-q", place.session),
    "check": lambda place: place.run("check", "-q", place.session, accepted=(0, 2)),
    "trim": lambda place: place.run("trim", "-q", place.session),
    "redact": lambda place: place.run("redact", "-q", place.session, accepted=(0, 1)),
    "collect": lambda place: place.run("collect", "-q"),
    "export to HTML": lambda place: place.run("export", "-q", place.session, "-o", str(place.cache / "page.html")),
    "export a project": lambda place: place.run(
        "export", "-q", f"--project={place.project}", "-o", f"{place.cache / 'pages'}/"
    ),
}


class Family(NamedTuple):
    """Inputs of one kind: how they are made, the steps that run on them, and whether memory is held to a limit."""

    make: Callable[[Path, int], Path]
    steps: Steps
    unit: str
    holds_memory: bool


FAMILIES: dict[str, Family] = {
    "trees": Family(tree_of, BULK, "bytes of all sessions", True),
    "sessions": Family(session_of, SESSION, "bytes of one session", False),
    "files": Family(files_of, BULK, "sessions of 700 bytes", True),
}
Results = dict[str, dict[str, dict[str, list[float]]]]  # by family, size and step: CPU, wall, memory


def measure(kind: str, size: int, kept: Path) -> dict[str, list[float]]:
    """Run each step of a family on one size, without any cache."""
    family = FAMILIES[kind]
    root = family.make(kept / f"{kind}-{size}", size)
    before = set(transcripts(root))
    largest = Path(max(before, key=lambda path: Path(path).stat().st_size))
    place = Place(root, largest.stem, largest.parent.name, kept / f"cache-{kind}-{size}")
    shutil.rmtree(place.cache, ignore_errors=True)
    place.cache.mkdir(parents=True)
    for path in before:  # else the first command alone reads from the disk, which counts as its CPU time
        with Path(path).open("rb") as file:
            while file.read(CHUNK):
                pass
    found = {}
    for name, step in family.steps.items():
        run = step(place)
        for made in set(transcripts(root)) - before:  # what an edit wrote is no part of the tree
            Path(made).unlink()
        found[name] = [round(run.cpu, 3), round(run.wall, 3), round(run.total_mb, 1)]
        said = f"{size:>14,}  {name:<24} {run.cpu:9.2f} s CPU {run.wall:9.2f} s {run.total_mb:7.0f} MB"
        print(said, flush=True)
    shutil.rmtree(place.cache)
    return found


def curves(found: dict[str, dict[str, list[float]]], steps: Steps) -> list[Curve]:
    """The curves of a family, from its results by size and step."""
    sizes = sorted(found, key=int)
    return [
        Curve(name, [Point(int(size), *found[size][name]) for size in sizes if name in found[size]]) for name in steps
    ]


def judge(found: Sequence[Curve], holds_memory: bool) -> Iterator[Line]:
    for curve in found:
        if len(curve.points) < 2:
            continue
        before, last = curve.points[-2:]
        steepness = math.log(max(last.cpu, 0.01) / max(before.cpu, 0.01)) / math.log(last.size / before.size)
        is_met = steepness <= STEEPEST
        yield Line(f"{curve.name}: exponent of the last step", steepness, "", f"≤ {STEEPEST}", is_met)
        if holds_memory:
            is_met = last.memory <= MEMORY
            yield Line(f"{curve.name}: memory of all processes", last.memory, "MB", f"≤ {MEMORY}", is_met)


def draw(results: Results, folder: Path) -> None:
    """Draw the CPU time and the memory of each family."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, family in FAMILIES.items():
        found = [curve for curve in curves(results.get(kind, {}), family.steps) if len(curve.points) > 1]
        for axis in ("cpu", "memory") if found else ():
            drawn = growth_plot(found, axis, family.unit)
            (folder / f"growth-{kind}-{axis}.svg").write_text(drawn, encoding="utf-8")


def load_results(path: Path) -> Results:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def run_missing(options: argparse.Namespace, results: Results, path: Path) -> None:
    """Measure the sizes that are not in the results, and save these after each."""
    wanted = [(kind, size) for kind in options.only for size in getattr(options, kind)]
    missing = [(kind, size) for kind, size in wanted if str(size) not in results.get(kind, {})]
    for number, (kind, size) in enumerate(missing, 1):
        print(f"{time.strftime('%H:%M:%S')}  {number} of {len(missing)}: {kind} {size:,}", file=sys.stderr, flush=True)
        results.setdefault(kind, {})[str(size)] = measure(kind, size, options.keep)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        draft.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how commands grow with their input.")
    parser.add_argument("--only", nargs="+", choices=tuple(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--trees", nargs="+", type=parse_size, default=[10**8, 10**9, 10**10])
    parser.add_argument("--sessions", nargs="+", type=parse_size, default=[10**6, 10**7, 10**8, 10**9])
    parser.add_argument("--files", nargs="+", type=int, default=[10, 100, 1000, 10_000, 100_000])
    parser.add_argument("--keep", type=Path, default=Path("build/growth"), help="where trees and results are kept")
    parser.add_argument("--plots", type=Path, help="write the curves there as SVG")
    parser.add_argument("--draw", action="store_true", help="measure nothing: judge and draw what is there")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    path = options.keep / "results.json"
    results = load_results(path)
    if not options.draw:
        run_missing(options, results, path)
    is_met = True
    for kind in options.only:
        family = FAMILIES[kind]
        for line in judge(curves(results.get(kind, {}), family.steps), family.holds_memory):
            print(f"{kind}, {line}", flush=True)
            is_met = is_met and line.is_met
    if options.plots:
        draw(results, options.plots)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
