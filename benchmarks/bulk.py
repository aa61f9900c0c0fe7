"""Reading: all facts of a tree, and one large session."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line, cpu_of, in_process, interleaved, transcripts


def measure(root: Path, smaller: Path) -> Iterator[Line]:
    yield from facts(smaller)
    yield from memory(root)
    yield from large_session(root)


def facts(root: Path) -> Iterator[Line]:
    """Usage, words and calls of every entry, beside a loop over the standard library's decoder."""
    ours, theirs = interleaved(("facts_by_clew", str(root)), ("facts_by_json", str(root)))
    size = sum(Path(p).stat().st_size for p in transcripts(root)) / 1e6
    ratio = theirs.cpu / ours.cpu
    yield Line("bulk facts (usage, words, calls): stdlib json ÷ clew", ratio, "×", "≥ 3", ratio >= 3)
    yield Line("bulk facts: speed", size / ours.cpu, "MB/s")
    if scanner := shutil.which("rg"):
        scan = cpu_of([scanner, "-uuu", "-c", "no such needle anywhere", str(root / "projects")])
        yield Line("bulk facts: clew ÷ ripgrep's scan (the limit)", ours.cpu / scan, "×")


def memory(root: Path) -> Iterator[Line]:
    """The peak of the same passes over a large tree."""
    every, alone = in_process("facts_by_clew", str(root)), in_process("usage_by_clew", str(root))
    size = sum(Path(p).stat().st_size for p in transcripts(root)) / 1e6
    peak = max(every.rss_mb, alone.rss_mb)
    yield Line("usage alone: speed", size / alone.cpu, "MB/s")
    yield Line(f"bulk passes over {size:.0f} MB: peak memory", peak, "MB", "≤ 150", peak <= 150)


def large_session(root: Path) -> Iterator[Line]:
    path = max(transcripts(root), key=lambda p: Path(p).stat().st_size)
    alone, turns, screen = interleaved(("decode_alone", path), ("open_to_turns", path), ("first_screen", path))
    size = Path(path).stat().st_size / 1e6
    ratio = turns.cpu / alone.cpu
    yield Line(f"open {size:.0f} MB to its turns ÷ typed decode alone", ratio, "×", "≤ 2.5", ratio <= 2.5)
    yield Line("open to its turns", turns.cpu * 1000, "ms")
    yield Line("open to its first screen", screen.cpu * 1000, "ms", "≤ 50", screen.cpu <= 0.05)
