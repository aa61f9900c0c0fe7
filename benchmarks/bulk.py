"""Reading: all facts of a tree, one large session, and the start of common commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line, cpu_of, in_process, interleaved, start_of, transcripts


def measure(root: Path) -> Iterator[Line]:
    yield from facts(root)
    yield from large_session(root)


def facts(root: Path) -> Iterator[Line]:
    """Usage, words and calls of every entry, beside a loop over the standard library's decoder."""
    ours, theirs = interleaved(("facts_by_clew", str(root)), ("facts_by_json", str(root)))
    alone = in_process("usage_by_clew", str(root))
    size = sum(Path(p).stat().st_size for p in transcripts(root)) / 1e6
    ratio = theirs.cpu / ours.cpu
    peak = max(ours.rss_mb, alone.rss_mb)
    yield Line("bulk facts (usage, words, calls): stdlib json ÷ clew", ratio, "×", "≥ 3", ratio >= 3)
    yield Line("bulk facts: speed", size / ours.cpu, "MB/s")
    yield Line("usage alone: speed", size / alone.cpu, "MB/s")
    yield Line("bulk passes: peak memory", peak, "MB", "≤ 150", peak <= 150)
    if scanner := shutil.which("rg"):
        scan = cpu_of([scanner, "-uuu", "-c", "no such needle anywhere", str(root / "projects")])
        yield Line("bulk facts: clew ÷ ripgrep's scan (the limit)", ours.cpu / scan, "×")


def large_session(root: Path) -> Iterator[Line]:
    path = max(transcripts(root), key=lambda p: Path(p).stat().st_size)
    alone, turns, screen = interleaved(("decode_alone", path), ("open_to_turns", path), ("first_screen", path))
    size = Path(path).stat().st_size / 1e6
    ratio = turns.cpu / alone.cpu
    yield Line(f"open {size:.0f} MB to its turns ÷ typed decode alone", ratio, "×", "≤ 2.5", ratio <= 2.5)
    yield Line("open to its turns", turns.cpu * 1000, "ms")
    yield Line("open to its first screen", screen.cpu * 1000, "ms", "≤ 50", screen.cpu <= 0.05)


def start_up(scratch: Path) -> Iterator[Line]:
    """The start of common commands on the demo tree. The second run has an index and a summary."""
    clew, demo = str(Path(sys.executable).with_name("clew")), scratch / "demo"
    subprocess.run([clew, "demo", str(demo)], check=True, stdout=subprocess.DEVNULL)
    for command in ("--version", "ls", "show", "search valve", "usage", "statusline --no-refresh"):
        name, *words = command.split()
        tree = [] if name == "--version" else ["--claude-dir", str(demo)]
        ratio = start_of([clew, name, *words, *tree], XDG_CACHE_HOME=str(scratch / "cache"))
        limit = "≤ 2.5" if name == "--version" else ""
        yield Line(f"clew {command} ÷ python -c pass", ratio, "×", limit, not limit or ratio <= 2.5)
