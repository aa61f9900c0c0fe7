"""`python -m benchmarks.corpus DIR`: write a corpus by hand."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.corpus import LONGEST, generate, parse_size


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.corpus", description="Write a made-up ~/.claude tree of any size."
    )
    parser.add_argument("root", type=Path, metavar="DIR", help="a new folder, written as ~/.claude is")
    parser.add_argument("--size", type=parse_size, default=parse_size("300M"), help="bytes in all (default 300M)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions-max", type=parse_size, default=LONGEST, help="longest session (default 13M)")
    parser.add_argument("--big", type=parse_size, help="one more session, of this size")
    parser.add_argument("--manifest", type=Path, help="default: manifest.json beside DIR")
    options = parser.parse_args(arguments)
    manifest = generate(options.root, options.size, options.seed, options.big, options.sessions_max)
    path = options.manifest or options.root.resolve().parent / "manifest.json"
    manifest.write(path)
    print(f"{manifest.bytes:,} bytes, {manifest.files:,} files, {manifest.lines:,} lines; {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
