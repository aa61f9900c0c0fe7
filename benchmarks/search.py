"""Measuring the index: how long it takes to build, how large it is, how soon it answers.

python -m benchmarks.search [--size 300M] [--keep DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from benchmarks.corpus import generate, parse_size
from benchmarks.measure import command, cpu_of, transcripts
from clew.facts.words import words
from clew.index.search import Index
from clew.index.text import is_wide, tokens
from clew.wire.scan import scan

ROUNDS = 3
SAMPLE = 40  # queries of each kind


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement, with the limit that it is held to."""

    what: str
    value: float
    unit: str
    limit: str
    is_met: bool

    def __str__(self) -> str:
        return f"{'ok ' if self.is_met else 'NO '} {self.what:<58} {self.value:8.2f} {self.unit:<6} {self.limit}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the index on a generated tree.")
    parser.add_argument("--size", type=parse_size, default=300_000_000)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "claude"
        if not (root / "projects").exists():
            print(f"Writing {options.size / 1e6:.0f} MB of sessions …", file=sys.stderr)
            generate(root, options.size, 1)
        lines = []
        for line in measure(root, Path(scratch)):
            print(line, flush=True)
            lines.append(line)
    return 0 if all(line.is_met for line in lines) else 1


def measure(root: Path, scratch: Path) -> Iterator[Line]:
    """Everything about the index of a tree; `scratch` is for the index and what is tried on it."""
    cache = scratch / "cache" / "clew"
    yield from cold(root, cache)
    with Index.open(root, cache) as index:
        yield from warm(index, len(transcripts(root)))
        yield from appending(index, root)
        yield from asking(index, root)
        yield from scanning(index, root)
    yield from process(root, scratch / "cache")


def cold(root: Path, cache: Path) -> Iterator[Line]:
    """A first build in a process of its own, and its children."""
    size = sum(Path(path).stat().st_size for path in transcripts(root))
    script = "import sys; from clew.index.search import Index; Index.open(*sys.argv[1:]).refresh()"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", script, str(root), str(cache)], check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rss = after.ru_maxrss / (1 if sys.platform == "linux" else 1024) / 1024
    made = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    per = cpu / size * 1e9
    yield Line("cold index: CPU seconds for a GB", per, "s", "≤ 20", per <= 20)
    yield Line("cold index: speed", size / wall / 1e6, "MB/s", "", True)
    yield Line("cold index: cores used", cpu / wall, "", "", True)
    yield Line("index ÷ transcripts", 100 * made / size, "%", "≤ 25", made / size <= 0.25)
    yield Line("cold index: peak memory of a process", rss, "MB", "≤ 250", rss <= 250)


def warm(index: Index, files: int) -> Iterator[Line]:
    spent = best(index.refresh, 9) * 1000
    limit = 80 * max(1.0, files / 4000)
    yield Line(f"refresh of {files} files with nothing new", spent, "ms", f"≤ {limit:.0f}", spent <= limit)


def appending(index: Index, root: Path) -> Iterator[Line]:
    """Lines that are appended one by one to a session of our own, each searched for at once."""
    folder = root / "projects" / "-benchmark"
    folder.mkdir(exist_ok=True)
    path = folder / f"{uuid.uuid4()}.jsonl"
    spent, writing = [], []
    try:
        for number in range(60):
            value = {"type": "user", "uuid": str(uuid.uuid4()), "message": {"content": f"needle{number}xq in a line"}}
            with path.open("a") as file:
                file.write(json.dumps(value) + "\n")
            start = time.perf_counter()
            index.refresh()
            writing.append(time.perf_counter() - start)
            assert index.search(f"needle{number}xq")
            spent.append(time.perf_counter() - start)
    finally:
        shutil.rmtree(folder)
        index.refresh()
    middle, worst = median(spent) * 1000, (max(writing) - min(writing)) * 1000
    yield Line("an appended line can be found after", middle, "ms", "≤ 50", middle <= 50)
    yield Line("the longest wait for a write, beyond the shortest", worst, "ms", "≤ 100", worst <= 100)


def asking(index: Index, root: Path) -> Iterator[Line]:
    """Queries of every kind, sampled from the text."""
    times: list[float] = []
    for kind, queries in samples(root).items():
        spent = [best(lambda query=query: index.search(query), ROUNDS) * 1000 for query in queries]  # type: ignore[misc]
        if not spent:
            continue
        times += spent
        yield Line(f"search, {kind}: median", median(spent), "ms", "", True)
        yield Line(f"search, {kind}: slowest", max(spent), "ms", "", True)
    middle, high = median(times), quantiles(times, n=20)[-1]
    yield Line(f"search, all {len(times)} queries: median", middle, "ms", "≤ 5", middle <= 5)
    yield Line("search, all queries: 95th percentile", high, "ms", "≤ 50", high <= 50)


def samples(root: Path, seed: int = 1) -> dict[str, list[str]]:
    """Words by how common they are, pairs, phrases, beginnings, runs without spaces, and filters."""
    rng = random.Random(seed)
    paths = transcripts(root)
    texts = [text for path in rng.sample(paths, min(len(paths), 300)) for text in _texts(path)]
    rng.shuffle(texts)
    cuts = [cut for text in texts[:20_000] if len(cut := tokens(text)) > 3]
    count = Counter(word for cut in cuts for word in set(cut) if len(word) > 2)
    order = [word for word, _ in count.most_common()]
    common, rare = order[:SAMPLE], [word for word in order if count[word] == 1]
    medium = order[len(order) // 50 : len(order) // 10]
    firsts = [rng.choice(cuts) for _ in range(SAMPLE)]
    places = [(cut, rng.randrange(len(cut) - 1)) for cut in firsts]
    runs = [text[at : at + 2] for text in texts for at in [_wide(text, rng)] if at >= 0][:SAMPLE]
    return {
        "rare words": rng.sample(rare, min(SAMPLE, len(rare))),
        "middling words": rng.sample(medium, min(SAMPLE, len(medium))),
        "common words": common,
        "two words": [f"{rng.choice(cut)} {rng.choice(cut)}" for cut in firsts],
        "phrases": [f'"{cut[at]} {cut[at + 1]}"' for cut, at in places],
        "beginnings of 2": [f"{word[:2]}*" for word in rng.sample(order, SAMPLE)],
        "beginnings of 3": [f"{word[:3]}*" for word in rng.sample(order, SAMPLE)],
        "beginnings of 4": [f"{word[:4]}*" for word in rng.sample(order, SAMPLE)],
        "two characters of a run": [f'"{run}"' for run in runs],
        "with a filter": [f"{word} {name}" for word in common[:10] for name in ("tool:Bash", "is:error", "in:prompt")],
        "filters alone": ["tool:Edit", "is:error", "has:agent", "since:30d", "in:prompt", ""],
    }


def _texts(path: str) -> Iterator[str]:
    for piece in scan(path):
        for entry in piece.spoken:
            for said in words(entry):
                yield said.text[:2000]


def _wide(text: str, rng: random.Random) -> int:
    if text.isascii():
        return -1
    found = [at for at in range(len(text) - 1) if is_wide(text[at]) and is_wide(text[at + 1]) and text[at].isalnum()]
    found = [at for at in found if text[at + 1].isalnum()]
    return rng.choice(found) if found else -1


def scanning(index: Index, root: Path) -> Iterator[Line]:
    size = sum(Path(path).stat().st_size for path in transcripts(root))
    for what, pattern, regex in (
        ("a substring", "no such needle anywhere", False),
        ("a substring with capitals", "No Such Needle", False),
        ("an expression", r"no \w+ needle anywhere", True),
    ):
        start = time.process_time()
        for _ in index.grep(pattern, regex=regex):
            break
        cpu = time.process_time() - start
        yield Line(f"scan for {what}", size / cpu / 1e6, "MB/s", "", True)
        if scanner := shutil.which("rg"):
            ours = cpu / cpu_of([scanner, "-uuu", "-S", "-j1", "-c", pattern, str(root / "projects")])
            yield Line(f"scan for {what}: clew ÷ ripgrep", ours, "×", "", True)


def process(root: Path, cache: Path) -> Iterator[Line]:
    """The whole command, as it is typed."""
    clew = Path(sys.executable).with_name("clew")
    os.environ["XDG_CACHE_HOME"], before = str(cache), os.environ.get("XDG_CACHE_HOME")
    try:
        search = [str(clew), "search", "--claude-dir", str(root), "--limit", "10"]
        for word in ("zzzzq", "error"):
            ratio = command([*search, word]) / command([sys.executable, "-c", "pass"])
            yield Line(f"clew search {word} ÷ python -c pass", ratio, "×", "≤ 3", ratio <= 3)
    finally:
        if before is None:
            del os.environ["XDG_CACHE_HOME"]
        else:
            os.environ["XDG_CACHE_HOME"] = before


def best(job: Callable[[], object], rounds: int) -> float:
    """The shortest wall time of some rounds."""
    shortest = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        job()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


if __name__ == "__main__":
    sys.exit(main())
