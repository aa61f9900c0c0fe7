"""`make bench`: what clew takes, as a ratio to a peer or to a limit measured in the same run.

python -m benchmarks [--quick] [--only PART …] [--size 1G] [--big 50M] [--peers 200M] [--resumed 100M] [--keep DIR] [--json]

Each part runs in a process of its own: its memory is not that of the parts before it, and a part that fails is reported
while the others go on. The exit code is 0 if every limit was met, 1 if one was missed, 2 if a part could not be measured.
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

from benchmarks.corpus import parse_size
from benchmarks.measure import Line, Note
from benchmarks.parts import FULL, PARTS, QUICK, Trees


def main() -> int:
    options = _parse()
    sizes = QUICK if options.quick else FULL
    given = {name: getattr(options, name) or sizes[name] for name in sizes}
    with tempfile.TemporaryDirectory() as temporary:
        trees = Trees(options.keep or Path(temporary), **given, is_quick=options.quick)
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


def _run(names: Sequence[str], trees: Trees, as_json: bool) -> int:
    """Run the parts one after another, print what each measured, then list the limits that were missed."""
    missed: list[str] = []
    failed: list[str] = []
    limits, start = 0, time.monotonic()
    summary = sys.stderr if as_json else sys.stdout
    for name in names:
        began = time.monotonic()
        for found in _measure_in_process(name, trees):
            if "error" in found:
                failed.append(f"{name}: {found['error']}")
            elif not found["is_met"]:
                missed.append(f"{name}: {_read(found)}")
            limits += bool(found.get("limit"))
            print(json.dumps({"part": name, **found}, ensure_ascii=False) if as_json else _read(found), flush=True)
        print(f"    {name}: {time.monotonic() - began:.0f} s", file=summary, flush=True)
    print(f"{limits - len(missed)} of {limits} limits met in {time.monotonic() - start:.0f} s", file=summary)
    for line in (*missed, *(f"not measured: {line}" for line in failed)):
        print(line, file=summary)
    return 2 if failed else 1 if missed else 0


def _read(found: dict[str, object]) -> Line | Note | str:
    match found:
        case {"error": error}:
            return f"NO  not measured: {error}"
        case {"text": _}:
            return Note(**found)  # type: ignore[arg-type]
        case _:
            return Line(**found)  # type: ignore[arg-type]


def _measure_in_process(name: str, trees: Trees) -> Iterator[dict[str, object]]:
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
