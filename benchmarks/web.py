"""The web: its pages in Chromium, and how the server bears fifty readers of a session that grows.

python -m benchmarks.web [--readers 50] [--seconds 60] [--no-peers]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import pages
from benchmarks.load import EVERY, grown, load
from benchmarks.measure import Line, Note, print_lines
from benchmarks.pages import peak
from benchmarks.served import serving
from clew.demo.talk import talk


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure clew serve.")
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--no-peers", action="store_true", help="do not compare with agentsview")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        return print_lines(measure(Path(scratch), options.readers, options.seconds, not options.no_peers))


def measure(scratch: Path, readers: int = 50, seconds: float = 20.0, compares: bool = True) -> Iterator[Line | Note]:
    """What `make bench` says of the web app."""
    yield from pages.measure(scratch, compares)
    yield from many(scratch, readers, seconds)


def many(scratch: Path, readers: int, seconds: float) -> Iterator[Line | Note]:
    """Readers of one session of some megabytes that grows."""
    path, turns = growing(scratch / "growing", seconds)
    with serving(scratch / "growing", scratch / "web-cache") as served, served.client() as client:
        before = peak(served.process.pid)
        done = load(served.base, client.cookies, path, turns, readers)
        after = peak(served.process.pid)
    name = f"{readers} readers, {done.marks} turns in {seconds:.0f} s"
    yield Line(f"{name}: requests", done.requests, "")
    yield Line(f"{name}: a page, median", done.median * 1000, "ms")
    yield Line(f"{name}: a page, p95", done.p95 * 1000, "ms")
    yield Line(f"{name}: from written to seen, p95", done.delay_p95 * 1000, "ms")
    yield Line(f"{name}: memory before", before, "MB")
    yield Line(f"{name}: memory at its peak", after, "MB", "≤ 300", after <= 300)
    yield from (Note(failure, is_met=False) for failure in sorted(set(done.failures)))
    lost = done.missed + len(done.failures)
    yield Line(f"{name}: turns that a reader missed", lost, "", "= 0", not lost)


def growing(root: Path, seconds: float) -> tuple[Path, list[bytes]]:
    """A session of some two megabytes, and the turns that it grows by in some seconds."""
    told = talk(seed="growing", cwd="/home/ada/growing")
    for number in range(1000):
        told = told.user(f"prompt {number}").reply("word " * 250)
    data, turns = grown(told, int(seconds / EVERY))
    path = told.write(root)
    if path.read_bytes() != data:
        raise AssertionError("the session does not begin as it was said to")
    return path, turns


if __name__ == "__main__":
    sys.exit(main())
