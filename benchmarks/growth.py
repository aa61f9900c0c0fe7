"""Growth: what commands take on trees and sessions of growing size, as curves.

python -m benchmarks.growth [--only trees|sessions|files] [--trees 100M 1G 10G] [--sessions 1M … 1G] [--files 10 … 100000]
                            [--keep DIR] [--plots docs]

Each point is one run of the command as a user starts it, with all of its processes. A curve is held to its last step: with n
times the input a command takes at most n^1.15 times the CPU. Memory of a pass over a tree is held to 150 MB.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import generate, parse_size
from benchmarks.growth_plot import Curve, Point, growth_plot
from benchmarks.measure import Line, transcripts
from benchmarks.process_tree import TreeRun, measure_command

STEEPEST = 1.15  # exponent of the last step of a curve
MEMORY = 150  # MB of a pass over a tree
SEED_SIZE = parse_size("1G")  # a larger tree is made of several of this size
SMALL = 1_000_000  # bytes of other sessions beside a large one

CLEW = str(Path(sys.executable).with_name("clew"))


class Place(NamedTuple):
    """A tree, one session of it, and where clew keeps its caches."""

    root: Path
    session: str
    cache: Path

    def run(self, *words: str, accepted: Sequence[int] = (0,)) -> TreeRun:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLAUDE"))}
        homes = {f"XDG_{kind}_HOME": str(self.cache / kind.lower()) for kind in ("CACHE", "DATA", "CONFIG", "STATE")}
        return measure_command([CLEW, *words, "--claude-dir", str(self.root)], {**kept, **homes}, accepted)


Steps = dict[str, Callable[[Place], TreeRun]]
BULK: Steps = {  # in this order: the first ones fill the caches that the others read
    "usage, first time": lambda place: place.run("usage", "-q"),
    "usage, nothing new": lambda place: place.run("usage", "-q"),
    "search, first index": lambda place: place.run("search", "-q", "error"),
    "search, nothing new": lambda place: place.run("search", "-q", "error"),
    "ls": lambda place: place.run("ls", "-q"),
    "show": lambda place: place.run("show", "-q", place.session),
    "collect, first time": lambda place: place.run("collect", "-q"),
    "collect, nothing new": lambda place: place.run("collect", "-q"),
    "check --all": lambda place: place.run("check", "--all", "-q", accepted=(0, 2)),
}
SESSION: Steps = {
    "usage": lambda place: place.run("usage", "-q"),
    "show --full": lambda place: place.run("show", "--full", "-q", place.session),
    "check": lambda place: place.run("check", "-q", place.session, accepted=(0, 2)),
    "trim": lambda place: place.run("trim", "-q", place.session),
    "redact": lambda place: place.run("redact", "-q", place.session, accepted=(0, 1)),
    "export to HTML": lambda place: place.run("export", "-q", place.session, "-o", str(place.cache / "page.html")),
}


def tree_of(root: Path, size: int) -> Path:
    """A tree of any size: a large one is made of trees with different seeds, so that nothing in it is a copy."""
    if (root / "projects").exists():
        return root
    print(f"Writing {size / 1e6:.0f} MB of sessions …", file=sys.stderr)
    for seed in range(1, max(1, round(size / SEED_SIZE)) + 1):
        made = root / f"seed-{seed}"
        generate(made, min(size, SEED_SIZE), seed)
        for project in sorted((made / "projects").iterdir()):
            target = root / "projects" / f"{project.name}-{seed}"
            target.parent.mkdir(exist_ok=True)
            project.rename(target)
        shutil.rmtree(made)
    return root


def session_of(root: Path, size: int) -> Path:
    """A tree with one session of this size, compacted as large sessions are."""
    if not (root / "projects").exists():
        print(f"Writing a session of {size / 1e6:.0f} MB …", file=sys.stderr)
        generate(root, SMALL, 1, size)
    return root


def files_of(root: Path, count: int) -> Path:
    """A tree of many small sessions: one prompt and one reply."""
    for number in range(0 if (root / "projects").exists() else count):
        folder = root / "projects" / f"-home-ada-p{number % 500}"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"3f2a0c5e-0000-4000-8000-{number:012}"
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in _small_session(name)))
    return root


def _small_session(name: str) -> Iterator[dict[str, object]]:
    common = {"sessionId": name, "cwd": "/home/ada/p", "version": "2.1.325", "timestamp": "2026-11-01T10:00:00.000Z"}
    first, second = f"1{name[1:]}", f"2{name[1:]}"
    yield {
        **common,
        "type": "user",
        "uuid": first,
        "parentUuid": None,
        "message": {"role": "user", "content": f"Fix the error in part {name[-6:]}"},
    }
    reply = {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "It is fixed."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    yield {**common, "type": "assistant", "uuid": second, "parentUuid": first, "message": reply}


def curves(place_of: Callable[[int], Path], sizes: Sequence[int], steps: Steps, scratch: Path) -> list[Curve]:
    """Run each step on each size; the largest session is the one that a step names."""
    points: dict[str, list[Point]] = {name: [] for name in steps}
    for size in sizes:
        root = place_of(size)
        before = set(transcripts(root))
        largest = max(before, key=lambda path: Path(path).stat().st_size)
        place = Place(root, Path(largest).stem, scratch / f"cache-{size}")
        place.cache.mkdir(parents=True)
        for name, step in steps.items():
            run = step(place)
            for made in set(transcripts(root)) - before:  # what an edit wrote is no part of the tree
                Path(made).unlink()
            points[name].append(Point(size, run.cpu, run.wall, run.total_mb))
            said = f"{size:>14,}  {name:<24} {run.cpu:9.2f} s CPU {run.wall:9.2f} s {run.total_mb:7.0f} MB"
            print(said, flush=True)
        shutil.rmtree(place.cache)
    return [Curve(name, found) for name, found in points.items()]


def judge(found: Sequence[Curve], holds_memory: bool) -> Iterator[Line]:
    for curve in found:
        before, last = curve.points[-2:]
        steepness = math.log(max(last.cpu, 0.01) / max(before.cpu, 0.01)) / math.log(last.size / before.size)
        is_met = steepness <= STEEPEST
        yield Line(f"{curve.name}: exponent of the last step", steepness, "", f"≤ {STEEPEST}", is_met)
        if holds_memory:
            is_met = last.memory <= MEMORY
            yield Line(f"{curve.name}: memory of all processes", last.memory, "MB", f"≤ {MEMORY}", is_met)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how commands grow with their input.")
    parser.add_argument("--only", nargs="+", choices=("trees", "sessions", "files"))
    parser.add_argument("--trees", nargs="+", type=parse_size, default=[10**8, 10**9])
    parser.add_argument("--sessions", nargs="+", type=parse_size, default=[10**6, 10**7, 10**8])
    parser.add_argument("--files", nargs="+", type=int, default=[10, 100, 1000, 10_000])
    parser.add_argument("--keep", type=Path, help="keep the trees there, and use those that are there")
    parser.add_argument("--plots", type=Path, help="write the curves there as SVG")
    options = parser.parse_args()
    is_met = True
    with tempfile.TemporaryDirectory() as temporary:
        kept, scratch = options.keep or Path(temporary) / "trees", Path(temporary)
        for what, make, sizes, steps, unit in (
            ("trees", tree_of, options.trees, BULK, "bytes of all sessions"),
            ("sessions", session_of, options.sessions, SESSION, "bytes of one session"),
            ("files", files_of, options.files, BULK, "sessions of 700 bytes"),
        ):
            if options.only and what not in options.only:
                continue
            place = lambda size, make=make, what=what: make(kept / f"{what}-{size}", size)  # noqa: E731
            found = curves(place, sizes, steps, scratch / what)
            for line in judge(found, what == "trees"):
                print(line, flush=True)
                is_met = is_met and line.is_met
            if options.plots:
                for axis in ("cpu", "memory"):
                    drawn = growth_plot(found, axis, unit)
                    (options.plots / f"growth-{what}-{axis}.svg").write_text(drawn, encoding="utf-8")
                data = [{"name": c.name, "points": [p._asdict() for p in c.points]} for c in found]
                (options.plots / f"growth-{what}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
