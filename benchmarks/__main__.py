"""`make bench`: what clew takes, as a ratio to a peer or to a limit measured in the same run.

python -m benchmarks [--size 1G] [--big 50M] [--peers 200M] [--chat 100M] [--keep DIR]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import chat, collect, console, export, peer, search, usage, web
from benchmarks.corpus import generate, parse_size
from benchmarks.measure import Line, Note, cpu_of, in_process, interleaved, start_of, transcripts


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure clew on a generated tree.")
    parser.add_argument("--size", type=parse_size, default=1_000_000_000)
    parser.add_argument("--big", type=parse_size, default=50_000_000)
    parser.add_argument(
        "--peers", type=parse_size, default=200_000_000, help="for the comparison with others; 0 for none"
    )
    parser.add_argument(
        "--chat", type=parse_size, default=100_000_000, help="the session that a chat goes on with; 0 for no chat"
    )
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "claude"
        if not (root / "projects").exists():
            print(f"Writing {options.size / 1e6:.0f} MB of sessions …", file=sys.stderr)
            generate(root, options.size, 1, options.big)
        lines = []
        for line in measure(root, Path(scratch), options.peers, options.chat):
            print(line, flush=True)
            lines.append(line)
    return 0 if all(line.is_met for line in lines) else 1


def measure(root: Path, scratch: Path, peers: int, resumed: int) -> Iterator[Line | Note]:
    """What is held to its memory comes first: a process counts as large as the one that started it, and this one grows
    with the searches."""
    if peers:
        yield from collect.measure(peer.tree(scratch, peers), scratch)
    yield from usage.measure(root, scratch)
    if resumed:
        yield from chat.measure(scratch, chat.large(scratch / "chat-tree", resumed))
        yield from console.measure(scratch)
    yield from bulk(root)
    yield from large(root)
    yield from start_up(scratch)
    yield from export.measure(root, scratch, bool(peers))
    yield from search.measure(root, scratch)
    yield from web.measure(scratch, compares=bool(peers))
    if peers:
        yield from peer.compare(scratch, peers)


def bulk(root: Path) -> list[Line]:
    ours, theirs = interleaved(("facts_by_clew", str(root)), ("facts_by_json", str(root)))
    alone = in_process("usage_by_clew", str(root))
    size = sum(Path(p).stat().st_size for p in transcripts(root)) / 1e6
    ratio = theirs.cpu / ours.cpu
    peak = max(ours.rss_mb, alone.rss_mb)
    lines = [
        Line("bulk facts (usage, words, calls): stdlib json ÷ clew", ratio, "×", "≥ 3", ratio >= 3),
        Line("bulk facts: speed", size / ours.cpu, "MB/s", "", True),
        Line("usage alone: speed", size / alone.cpu, "MB/s", "", True),
        Line("bulk passes: peak memory", peak, "MB", "≤ 150", peak <= 150),
    ]
    if scanner := shutil.which("rg"):
        scan = cpu_of([scanner, "-uuu", "-c", "no such needle anywhere", str(root / "projects")])
        lines.append(Line("bulk facts: clew ÷ ripgrep's scan (the limit)", ours.cpu / scan, "×", "", True))
    return lines


def large(root: Path) -> list[Line]:
    path = max(transcripts(root), key=lambda p: Path(p).stat().st_size)
    alone, turns, screen = interleaved(("decode_alone", path), ("open_to_turns", path), ("first_screen", path))
    size = Path(path).stat().st_size / 1e6
    ratio = turns.cpu / alone.cpu
    return [
        Line(f"open {size:.0f} MB to its turns ÷ typed decode alone", ratio, "×", "≤ 2.5", ratio <= 2.5),
        Line("open to its turns", turns.cpu * 1000, "ms", "", True),
        Line("open to its first screen", screen.cpu * 1000, "ms", "≤ 50", screen.cpu <= 0.05),
    ]


def start_up(scratch: Path) -> list[Line]:
    """Measure the start of common commands on the demo tree. The second run has an index and a summary."""
    clew, demo = str(Path(sys.executable).with_name("clew")), scratch / "startup"
    subprocess.run([clew, "demo", str(demo)], check=True, stdout=subprocess.DEVNULL)
    lines = []
    for command in ("--version", "ls", "show", "search valve", "usage", "statusline --no-refresh"):
        name, *words = command.split()
        tree = [] if name == "--version" else ["--claude-dir", str(demo)]
        ratio = start_of([clew, name, *words, *tree], XDG_CACHE_HOME=str(scratch / "startup-cache"))
        limit = "≤ 2.5" if name == "--version" else ""
        lines.append(Line(f"clew {command} ÷ python -c pass", ratio, "×", limit, not limit or ratio <= 2.5))
    return lines


if __name__ == "__main__":
    sys.exit(main())
