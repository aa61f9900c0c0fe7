"""Measuring an edit: trimming a large session ÷ reading it.

python -m benchmarks.edit [--big 50M] [--keep DIR]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import generate, parse_size
from benchmarks.measure import Line, interleaved, transcripts
from clew.edit.trim_presets import PRESETS

SMALL = 2_000_000  # bytes of other sessions, which nothing is measured on
WAYS = (
    "fit",
    "heavy",
    "calls",
)  # the last one is no preset: it rewrites also what was compacted away, and has no limit


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure edits of a generated session.")
    parser.add_argument("--big", type=parse_size, default=50_000_000)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "claude"
        if not (root / "projects").exists():
            print(f"Writing a session of {options.big / 1e6:.0f} MB …", file=sys.stderr)
            generate(root, SMALL, 1, options.big)
        lines = list(measure(root, Path(scratch)))
    print("\n".join(map(str, lines)))
    return 0 if all(line.is_met for line in lines) else 1


def measure(root: Path, scratch: Path) -> Iterator[Line]:
    """The largest session of a tree: read to its turns, and trimmed into `scratch`, from the file to what was read back."""
    path = max(transcripts(root), key=lambda p: Path(p).stat().st_size)
    size = Path(path).stat().st_size / 1e6
    before = os.environ.get("XDG_DATA_HOME")
    os.environ["XDG_DATA_HOME"] = str(scratch / "data")  # the journal
    try:
        jobs = [("trim", path, way, str(scratch / "made")) for way in WAYS]
        reading, *trims = interleaved(("open_to_turns", path), *jobs)
    finally:
        if before is None:
            del os.environ["XDG_DATA_HOME"]
        else:
            os.environ["XDG_DATA_HOME"] = before
    yield Line(f"read {size:.0f} MB to its turns: peak memory", reading.rss_mb, "MB")
    for way, done in zip(WAYS, trims, strict=True):
        ratio, memory = done.cpu / reading.cpu, done.rss_mb / reading.rss_mb
        limit = ("≤ 3", ratio <= 3) if way in PRESETS else ("", True)
        yield Line(f"trim ({way}) of {size:.0f} MB ÷ reading it", ratio, "×", *limit)
        yield Line(f"trim ({way}): peak memory ÷ that of reading", memory, "×", "≤ 2", memory <= 2)


if __name__ == "__main__":
    sys.exit(main())
