"""The web: how soon a large session is seen in Chromium, and how the server bears fifty readers of one that grows.

python -m benchmarks.web [--big 50M] [--readers 50] [--seconds 60] [--keep DIR]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import browser
from benchmarks.corpus import generate, parse_size
from benchmarks.load import EVERY, grown, load
from benchmarks.measure import Line, Note, transcripts
from benchmarks.served import serving
from clew.demo.talk import talk
from clew.index.session_index import Index

ROUNDS = 3
PAINT = """() => new Promise(done => new PerformanceObserver(list => {
    const found = list.getEntriesByName("first-contentful-paint")[0];
    if (found) done(found.startTime);
}).observe({ type: "paint", buffered: true }))"""


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure clew serve.")
    parser.add_argument("--big", type=parse_size, default=50_000_000)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "claude"
        if not (root / "projects").exists():
            generate(root, options.big + 2_000_000, 1, options.big)
        lines = []
        for line in [*paint(root, Path(scratch)), *many(Path(scratch), options.readers, options.seconds)]:
            print(line, flush=True)
            lines.append(line)
    return 0 if all(line.is_met for line in lines) else 1


def measure(root: Path, scratch: Path) -> Iterator[Line | Note]:
    """What `make bench` tells."""
    yield from paint(root, scratch)
    yield from many(scratch, 50, 20.0)


def paint(root: Path, scratch: Path) -> Iterator[Line | Note]:
    """From the address to the first paint of the largest session: by a server that has just started, and once more."""
    path = browser.program()
    if path is None:
        yield Note("first paint was not measured: Chromium is not installed")
        return
    large = Path(max(transcripts(root), key=lambda name: Path(name).stat().st_size))
    size = large.stat().st_size / 1e6
    cold: list[float] = []
    warm: list[float] = []
    whole: list[float] = []
    memory: list[float] = []
    with browser.browsing(path) as chromium:
        tree = alone(large, scratch / "alone")
        with Index.open(tree, scratch / "web-cache" / "clew") as index:  # so that none is being built meanwhile
            index.refresh()
        for _ in range(ROUNDS):
            with serving(tree, scratch / "web-cache") as served:
                page = chromium.new_page()
                page.goto(served.entrance)
                for times in (cold, warm):
                    page.goto(f"{served.base}/session/{large.stem}")
                    times.append(page.evaluate(PAINT))
                    whole.append(page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive"))
                    if not page.locator("#turn-1").count():
                        raise AssertionError("the page that was painted has no turn on it")
                memory.append(peak(served.process.pid))
                page.close()
    best = min(cold)
    yield Line(f"first paint of {size:.0f} MB in Chromium, just started", best, "ms", "≤ 1000", best <= 1000)
    yield Line("all of its first page, just started", min(whole[::2]), "ms")
    yield Line("first paint, once it has been read", min(warm), "ms")
    yield Line("all of its first page, once it has been read", min(whole[1::2]), "ms")
    yield Line("memory of the server with it", min(memory), "MB", "≤ 400", min(memory) <= 400)


def alone(path: Path, root: Path) -> Path:
    """A tree with one session."""
    folder = root / "projects" / path.parent.name
    folder.mkdir(parents=True)
    shutil.copy(path, folder / path.name)
    return root


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


def peak(process: int) -> float:
    """The most memory that a process has held, in MB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    sys.exit(main())
