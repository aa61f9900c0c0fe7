"""`python -m tests.fuzz`: fuzz for some minutes, print what was found. Every file can be made again from its seed."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.worker import fuzz


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--files", type=int, default=1000, help="how many files to mutate")
    parser.add_argument("--runs", type=int, default=6, help="runs on each file; 0 for all")
    parser.add_argument("--seconds", type=float, default=480, help="stop after this time")
    parser.add_argument("--only", default="", help="only runs that begin with this")
    parser.add_argument("--keep", type=Path, help="a folder for files that failed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = fuzz(
            Path(folder),
            seeds=range(options.seed, options.seed + options.files),
            runs=options.runs,
            seconds=options.seconds,
            only=options.only,
            keep=options.keep,
        )
    print(found.summary())
    return 1 if found.failures else 0


sys.exit(main())
