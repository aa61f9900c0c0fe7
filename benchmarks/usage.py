"""Usage: what `clew usage` takes on a tree, beside ccusage on the same tree in the same run.

python -m benchmarks.usage [--size 300M] [--keep DIR]

Both are started as their users start them and print the report by day. Cold is without a cache, which clew then writes; warm
is with it, and nothing new. ccusage keeps none.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import ccusage
from benchmarks.corpus import generate, parse_size
from benchmarks.measure import Line, Note, print_lines

ROUNDS = 5
TOLD = json.dumps({"model": {"display_name": "Opus"}, "cost": {"total_cost_usd": 1}}).encode()


class Run(NamedTuple):
    """One process, from its start to its end."""

    cpu: float
    wall: float
    rss_mb: float


def measure(root: Path, scratch: Path) -> Iterator[Line | Note]:
    """The ratios, and the memory."""
    cache = scratch / "usage-cache"
    clew = [str(Path(sys.executable).with_name("clew"))]
    usage = [*clew, "usage", "--claude-dir", str(root)]
    mine = _environment(scratch, cache)
    try:
        peer = [*ccusage.install(), *ccusage.REPORT]
    except ccusage.Unavailable as why:
        yield Note(f"ccusage was not measured: {why}")
        return
    run(usage, mine)  # so that modules are compiled and files are in memory
    rounds = [_round(usage, peer, cache, mine, ccusage.environment(root)) for _ in range(ROUNDS)]
    theirs, cold, warm = (min(column) for column in zip(*rounds, strict=True))
    wall = min(run.wall for _, run, _ in rounds) / min(run.wall for run, _, _ in rounds)
    yield Line("ccusage by day: CPU", theirs.cpu * 1000, "ms")
    first, again = cold.cpu / theirs.cpu, warm.cpu / theirs.cpu
    yield Line("clew usage, cold ÷ ccusage: CPU", first, "×", "≤ 0.3", first <= 0.3)
    yield Line("clew usage, cold ÷ ccusage: wall", wall, "×", "≤ 0.4", wall <= 0.4)
    yield Line("clew usage, warm ÷ ccusage: CPU", again, "×", "≤ 0.05", again <= 0.05)
    peak = max(cold.rss_mb, warm.rss_mb)
    yield Line("clew usage: peak memory", peak, "MB", "≤ 100", peak <= 100)
    yield Line("ccusage: peak memory", theirs.rss_mb, "MB")
    line = min(run([*clew, "statusline"], {**mine, "CLAUDE_CONFIG_DIR": str(root)}, TOLD) for _ in range(4 * ROUNDS))
    yield Line("clew statusline, warm: CPU", line.cpu * 1000, "ms", "≤ 30", line.cpu <= 0.03)
    yield Line("clew statusline, warm: wall", line.wall * 1000, "ms")


def _round(
    usage: Sequence[str], peer: Sequence[str], cache: Path, mine: dict[str, str], theirs: dict[str, str]
) -> tuple[Run, Run, Run]:
    """All three in turns, so that a noisy neighbour disturbs them alike."""
    other = run(peer, theirs)
    shutil.rmtree(cache, ignore_errors=True)
    return other, run(usage, mine), run(usage, mine)


def _environment(scratch: Path, cache: Path) -> dict[str, str]:
    """Nothing of Python's own settings: modules are kept compiled, as an installer leaves them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "XDG_CACHE_HOME": str(cache), "XDG_CONFIG_HOME": str(scratch / "no-config"), "TZ": "UTC"}


def run(command: Sequence[str], environment: dict[str, str], told: bytes = b"") -> Run:
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if process.stdin:
        process.stdin.write(told)
        process.stdin.close()
    _, status, spent = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} failed")
    return Run(spent.ru_utime + spent.ru_stime, time.perf_counter() - start, spent.ru_maxrss / 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure clew usage beside ccusage.")
    parser.add_argument("--size", type=parse_size, default=300_000_000)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "claude"
        if not (root / "projects").exists():
            generate(root, options.size, 1, None)
        return print_lines(measure(root, Path(scratch)))


if __name__ == "__main__":
    sys.exit(main())
