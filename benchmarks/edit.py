"""Measuring edits: each edit of a large session ÷ reading it to its turns.

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

SMALL = 2_000_000  # bytes of other sessions, which nothing is measured on
LIMITS = {  # CPU ÷ that of reading the session to its turns; the names are those of `jobs.EDITS`
    "trim fit": 1.8,
    "trim heavy": 1.8,
    "trim calls": 4.0,
    "clone": 4.0,
    "move": 4.0,
    "drop": 4.0,
    "truncate": 4.0,
    "compress": 4.0,
    "repair": 4.0,
    "redact": 4.0,
}
MEMORY = 2.0  # peak ÷ that of reading


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
    """The largest session of a tree: read to its turns, and edited into `scratch`, from the file to what was read back."""
    path = max(transcripts(root), key=lambda p: Path(p).stat().st_size)
    size = Path(path).stat().st_size / 1e6
    before = os.environ.get("XDG_DATA_HOME")
    os.environ["XDG_DATA_HOME"] = str(scratch / "data")  # the journal
    try:
        jobs = [("edit", path, name, str(scratch / "made")) for name in LIMITS]
        reading, *edits = interleaved(("open_to_turns", path), *jobs)
    finally:
        if before is None:
            del os.environ["XDG_DATA_HOME"]
        else:
            os.environ["XDG_DATA_HOME"] = before
    yield Line(f"read {size:.0f} MB to its turns: peak memory", reading.rss_mb, "MB")
    for (name, limit), done in zip(LIMITS.items(), edits, strict=True):
        ratio, memory = done.cpu / reading.cpu, done.rss_mb / reading.rss_mb
        yield Line(f"{name}: {size:.0f} MB ÷ reading it", ratio, "×", f"≤ {limit:g}", ratio <= limit)
        yield Line(f"{name}: peak memory ÷ that of reading", memory, "×", f"≤ {MEMORY:g}", memory <= MEMORY)


if __name__ == "__main__":
    sys.exit(main())
