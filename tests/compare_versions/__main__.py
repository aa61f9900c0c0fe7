"""`python -m tests.compare_versions OLD`: run both versions, one after the other, and print what differs."""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import parse_size
from tests.compare_versions.answers import Answer, Version, differences
from tests.compare_versions.scenes import Scene, damaged, demo, generated, samples

HERE = Path(__file__).parents[2]
KINDS = ("demo", "damaged", "samples", "generated")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compare_versions", description="Compare two versions.")
    parser.add_argument("old", help="a commit")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, metavar="TREE")
    parser.add_argument("--cases", type=int, default=50, help="damaged files")
    parser.add_argument("--runs", type=int, default=12, help="commands for each damaged file")
    parser.add_argument("--size", type=parse_size, default=parse_size("60M"), help="bytes of generated sessions")
    parser.add_argument("--sessions", type=int, default=12, help="generated sessions that get every command")
    parser.add_argument("--samples", type=Path, default=HERE.parent / "shared" / "corpus", help="real transcripts")
    parser.add_argument("--keep", type=Path, help="keep generated trees there")
    parser.add_argument("--show", type=int, default=3, help="differences to print for each command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        mains = (_unpack(options.old, folder / "source"), HERE / "src" / "clew" / "__main__.py")
        run, differing, shown = Counter[str](), Counter[str](), Counter[str]()
        for scene in _scenes(options, folder):
            kind = scene.name.partition(",")[0]
            for words, old, new in _answers(scene, mains, folder):
                run[kind] += 1
                if found := differences(old, new):
                    differing[kind] += 1
                    shown[words[0]] += 1
                    if shown[words[0]] <= options.show:
                        print(f"{scene.name}: clew {' '.join(words)}", *found[:3], sep="\n    ", flush=True)
    for kind, count in run.items():
        print(f"{kind}: {count:,} commands, {differing[kind]} differ")
    return 1 if differing else 0


def _unpack(commit: str, folder: Path) -> Path:
    """Write the sources of a commit into a folder, and return its entry point."""
    folder.mkdir()
    archive = subprocess.run(["git", "-C", str(HERE), "archive", commit, "src"], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src" / "clew" / "__main__.py"


def _scenes(options: argparse.Namespace, folder: Path) -> Iterator[Scene]:
    if "demo" in options.only:
        yield demo(folder)
    if "damaged" in options.only:
        yield from damaged(folder / "cases", options.cases, options.runs)
    if "samples" in options.only and options.samples.is_dir():
        yield samples(folder, options.samples)
    if "generated" in options.only:
        yield generated(options.keep or folder, options.size, options.sessions)


def _answers(scene: Scene, mains: tuple[Path, Path], folder: Path) -> Iterator[tuple[tuple[str, ...], Answer, Answer]]:
    """Run the commands of a scene with one version, then with the other, in the same folder."""
    before = folder / "answers"
    before.mkdir(exist_ok=True)
    version = Version(mains[0], folder / "home")
    version.begin(scene.tree)
    for number, words in enumerate(scene.commands):
        (before / f"{number}").write_bytes(pickle.dumps(version.run(words, scene.tree)))
    version = Version(mains[1], folder / "home")
    version.begin(scene.tree)
    for number, words in enumerate(scene.commands):
        new = version.run(words, scene.tree)
        yield words, pickle.loads((before / f"{number}").read_bytes()), new


sys.exit(main())
