"""`make bench`: what clew takes, as a ratio to a peer or to a limit measured in the same run.

python -m benchmarks [--quick] [--only PART …] [--size 1G] [--big 50M] [--peers 200M] [--resumed 100M] [--keep DIR] [--json]

Each part runs in a process of its own: its memory is not that of the parts before it, and a part that fails is reported
while the others go on. The exit code is 0 if every limit was met or is missed for a known reason (known_misses.py), 1 if
one was missed otherwise, 2 if a part could not be measured.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.corpus import parse_size
from benchmarks.known_misses import known_miss
from benchmarks.measure import Line, Note
from benchmarks.parts import FULL, PARTS, QUICK, Trees


def main() -> int:
    options = _parse()
    sizes = QUICK if options.quick else FULL
    given = {name: getattr(options, name) or sizes[name] for name in sizes}
    with tempfile.TemporaryDirectory() as temporary:
        trees = Trees((options.keep or Path(temporary)).resolve(), **given, is_quick=options.quick)
        if options.part:
            return _measure_here(options.part, trees)
        names = options.only or [name for name, part in PARTS.items() if part.is_quick or not options.quick]
        return _run(names, trees, options.json)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure clew on generated sessions.")
    parser.add_argument("--quick", action="store_true", help="small trees, and no other programs: about two minutes")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--size", type=parse_size, help="bytes of the tree (default 1G)")
    parser.add_argument("--big", type=parse_size, help="bytes of its largest session (default 50M)")
    parser.add_argument("--peers", type=parse_size, help="bytes of the tree that other programs read (default 200M)")
    parser.add_argument("--resumed", type=parse_size, help="bytes of the session that a chat resumes (default 100M)")
    parser.add_argument("--keep", type=Path, help="keep the trees there, and use those that are there")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each measurement")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    return parser.parse_args()


class Outcome(NamedTuple):
    """What a run found: the part of each limit, and the limits that were missed, as they are printed."""

    limits: list[str]
    known: list[str]
    missed: list[str]
    failed: list[str]

    def add(self, part: str, found: dict[str, Any]) -> None:
        if "error" in found:
            self.failed.append(f"{part}: {found['error']}")
            return
        if found.get("limit") or not found["is_met"]:
            self.limits.append(part)
        if found["is_met"]:
            return
        known = known_miss(part, found["what"], found["value"]) if "what" in found else None
        (self.known if known else self.missed).append(
            f"{part}: {_read(found)}" + (f"  {known.reason}" if known else "")
        )

    def lines(self, seconds: float) -> Iterator[str]:
        met = len(self.limits) - len(self.known) - len(self.missed)
        yield f"{met} of {len(self.limits)} limits met in {seconds:.0f} s"
        if self.known:
            yield f"{len(self.known)} missed for a known reason (docs/benchmarks.md):"
            yield from self.known
        if self.missed:
            yield f"{len(self.missed)} missed:"
            yield from self.missed
        yield from (f"not measured: {line}" for line in self.failed)


def _run(names: Sequence[str], trees: Trees, as_json: bool) -> int:
    """Run the parts one after another, print what each measured, then list the limits that were missed."""
    outcome, start = Outcome([], [], [], []), time.monotonic()
    summary = sys.stderr if as_json else sys.stdout
    for name in names:
        began = time.monotonic()
        for found in _measure_in_process(name, trees):
            outcome.add(name, found)
            print(json.dumps({"part": name, **found}, ensure_ascii=False) if as_json else _read(found), flush=True)
        print(f"    {name}: {time.monotonic() - began:.0f} s", file=summary, flush=True)
    for line in outcome.lines(time.monotonic() - start):
        print(line, file=summary)
    return 2 if outcome.failed else 1 if outcome.missed else 0


def _read(found: dict[str, Any]) -> Line | Note | str:
    match found:
        case {"error": error}:
            return f"NO  not measured: {error}"
        case {"text": _}:
            return Note(**found)
        case _:
            return Line(**found)


def _measure_in_process(name: str, trees: Trees) -> Iterator[dict[str, Any]]:
    """The measurements of one part as objects; the last one has an `error` if the part failed."""
    trees.scratch.mkdir(parents=True, exist_ok=True)
    sizes = [f"--{size}={getattr(trees, size)}" for size in FULL]
    command = [sys.executable, "-m", "benchmarks", "--part", name, "--keep", str(trees.scratch), *sizes]
    errors = trees.scratch / "errors.txt"
    with errors.open("w", encoding="utf-8") as stream:
        more = ["--quick"] if trees.is_quick else []
        part = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=stream, text=True)
        with part:
            assert part.stdout is not None
            for line in part.stdout:
                yield json.loads(line)
    if part.returncode:
        said = errors.read_text(encoding="utf-8").strip().splitlines()
        yield {"error": said[-1] if said else f"exit code {part.returncode}", "is_met": False}
    shutil.rmtree(trees.scratch / f"part-{name}", ignore_errors=True)


def _measure_here(name: str, trees: Trees) -> int:
    for found in PARTS[name].measure(trees, trees.own(name)):
        print(json.dumps(dataclasses.asdict(found), ensure_ascii=False), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
