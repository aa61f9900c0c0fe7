"""Measuring the index: how long it takes to build, how large it is, how soon and how well it answers."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median, quantiles

from benchmarks.growth_trees import files_of
from benchmarks.measure import Line, Note, cpu_of, start_of, transcripts
from clew.errors import ClewError
from clew.facts.searchable_text import words
from clew.index.assemble import fold_repeats, group_by_session, rank_sessions
from clew.index.fts_match import find_matches
from clew.index.query_syntax import HIDDEN_FIELDS, parse_query
from clew.index.session_index import Index
from clew.index.tokenizer import is_wide, tokenize
from clew.wire.bulk_scan import scan

ROUNDS = 3
SAMPLE = 40  # queries of each kind
MANY = 17_000  # small sessions
LONG = 2000  # characters of a text that are sampled from


def measure(root: Path, scratch: Path) -> Iterator[Line | Note]:
    """Everything about the index of a tree; `scratch` is for the index and what is tried on it."""
    cache = scratch / "cache" / "clew"
    yield from cold(root, cache)
    with Index.open(root, cache) as index:
        yield from warm(index, len(transcripts(root)))
        yield from appending(index, root)
        asked = samples(root)
        yield from asking(index, asked)
        yield from ranking(index, asked)
        yield from scanning(index, root)
        yield from embedding(index, root)
    yield from process(root, scratch)
    yield many_files(scratch)


def cold(root: Path, cache: Path) -> Iterator[Line]:
    """A first build in a process of its own, and its children. It says how long it took until it could be searched."""
    size = sum(Path(path).stat().st_size for path in transcripts(root))
    script = (
        "import sys, time; start = time.perf_counter(); from clew.index.session_index import Index;"
        "Index.open(*sys.argv[1:]).refresh(); print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-c", script, str(root), str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        wall = float(child.stdout.read())
        _, child.returncode, spent = os.wait4(child.pid, 0)
    cpu = spent.ru_utime + spent.ru_stime
    peak = spent.ru_maxrss / (1 if sys.platform == "linux" else 1024) / 1024
    made = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    per = cpu / size * 1e9
    yield Line("first index: CPU seconds for a GB", per, "s", "≤ 14", per <= 14)
    yield Line("first index: wall seconds for a GB", wall / size * 1e9, "s")
    yield Line("first index: cores used", cpu / wall, "")
    yield Line("index ÷ transcripts", 100 * made / size, "%", "≤ 30", made / size <= 0.30)
    yield Line("first index: peak memory of a process", peak, "MB", "≤ 150", peak <= 150)


def embedding(index: Index, root: Path) -> Iterator[Line | Note]:
    """The vectors of all sessions, which `--semantic` compares with a query first."""
    size = sum(Path(path).stat().st_size for path in transcripts(root))
    start = time.process_time()
    try:
        index.embed()
    except ClewError as error:
        yield Note(f"vectors for --semantic: not measured: {error}")
        return
    per = (time.process_time() - start) / size * 1e9
    yield Line("vectors for --semantic: CPU seconds for a GB", per, "s", "≤ 60", per <= 60)


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
            start = time.process_time()
            index.refresh()
            writing.append(time.process_time() - start)
            assert index.search(f"needle{number}xq")
            spent.append(time.process_time() - start)
    finally:
        shutil.rmtree(folder)
        index.refresh()
    middle, worst = median(spent) * 1000, (max(writing) - min(writing)) * 1000
    yield Line("an appended line can be found after", middle, "ms", "≤ 50", middle <= 50)
    yield Line("the longest wait for a write, beyond the shortest", worst, "ms", "≤ 100", worst <= 100)


def asking(index: Index, asked: dict[str, list[str]]) -> Iterator[Line]:
    """Queries of every kind, sampled from the text."""
    times: list[float] = []
    for kind, queries in asked.items():
        spent = [best(lambda query=query: index.search(query), ROUNDS) * 1000 for query in queries]  # type: ignore[misc]
        if not spent:
            continue
        times += spent
        yield Line(f"search, {kind}: median", median(spent), "ms")
        yield Line(f"search, {kind}: slowest", max(spent), "ms")
    middle, high = median(times), quantiles(times, n=20)[-1]
    yield Line(f"search, all {len(times)} queries: median", middle, "ms", "≤ 3", middle <= 3)
    yield Line("search, all queries: 95th percentile", high, "ms", "≤ 50", high <= 50)


def samples(root: Path, seed: int = 1) -> dict[str, list[str]]:
    """Words by how common they are, pairs, phrases, beginnings, runs without spaces, and filters."""
    rng = random.Random(seed)
    paths = transcripts(root)
    texts = [text for path in rng.sample(paths, min(len(paths), 300)) for text in _texts(path)]
    rng.shuffle(texts)
    cuts = [cut for text in texts[:20_000] if len(cut := tokenize(text)) > 3]
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
                if said.field not in HIDDEN_FIELDS:
                    yield said.text if len(said.text) <= LONG else said.text[:LONG].rpartition(" ")[0]


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
        yield Line(f"scan for {what}", size / cpu / 1e6, "MB/s")
        if scanner := shutil.which("rg"):
            ours = cpu / cpu_of([scanner, "-uuu", "-S", "-j1", "-c", pattern, str(root / "projects")])
            yield Line(f"scan for {what}: clew ÷ ripgrep", ours, "×")


def ranking(index: Index, asked: dict[str, list[str]]) -> Iterator[Line]:
    """How much of the first 10 and 20 is the same as if all matches had been ranked."""
    now = max(result.ended or 0 for result in index.recent(1)) + 3600.0
    kinds = {kind: queries[:: len(queries) // 10 or 1] for kind, queries in asked.items() if kind != "filters alone"}
    for limit in (10, 20):
        shares = {kind: [overlap(index, query, limit, now) for query in queries] for kind, queries in kinds.items()}
        for kind, several in shares.items():
            yield Line(f"ranking, {kind}: of the first {limit} as by all", 100 * mean(several), "%")
        every = mean(share for several in shares.values() for share in several)
        yield Line(f"ranking, all kinds: of the first {limit} as by all", 100 * every, "%", "≥ 90", every >= 0.9)


def overlap(index: Index, text: str, limit: int, now: float) -> float:
    query = parse_query(text)
    every, seen = (
        {
            one.session
            for one in fold_repeats(
                index.shards, rank_sessions(group_by_session(index.shards, found, None).values(), now), limit, now
            )
        }
        for found in (find_matches(index.shards, query), find_matches(index.shards, query, 10 * limit, now))
    )
    return len(every & seen) / len(every) if every else 1.0


def process(root: Path, scratch: Path) -> Iterator[Line | Note]:
    """The whole command, as it is typed: on a few sessions, on all without looking for news, and on all."""
    installed, clew = Path(sys.executable).with_name("clew"), str(_wrapper(scratch))
    cache = {"XDG_CACHE_HOME": str(scratch / "cache")}
    small = str(scratch / "demo")
    subprocess.run([clew, "demo", small], check=True, stdout=subprocess.DEVNULL)
    for what, command in (
        ("clew search error, 30 sessions", ["--claude-dir", small, "error"]),
        ("clew search --no-refresh error, all sessions", ["--claude-dir", str(root), "--no-refresh", "error"]),
        ("clew search error, all sessions", ["--claude-dir", str(root), "error"]),
    ):
        ratio = start_of([clew, "search", *command], **cache)
        yield Line(f"{what} ÷ python -c pass", ratio, "×", "≤ 3", ratio <= 3)
    if "import re" in installed.read_text():
        ratio = start_of([str(installed), "search", "--claude-dir", small, "error"], **cache)
        yield Note(
            f"through the wrapper of the pip that is here, which imports re, the first of these is {ratio:.1f} ×"
        )


def many_files(scratch: Path) -> Line:
    """The whole command on many small sessions of which none is new, from its start to its end."""
    root = files_of(scratch / "many", MANY)
    environment = {**os.environ, "XDG_CACHE_HOME": str(scratch / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [str(_wrapper(scratch)), "search", "--quiet", "--claude-dir", str(root), "error"]
    walls = []
    for _ in range(6):  # the first one builds the index
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
        walls.append(time.perf_counter() - start)
    seconds = min(walls)
    return Line(f"warm search, {MANY} files, nothing new: wall", seconds, "s", "≤ 0.1", seconds <= 0.1)


def _wrapper(folder: Path) -> Path:
    """The command as uv and the newest pip install it, whatever was used here."""
    path = folder / "clew"
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom clew.cli import main\n\nsys.exit(main())\n")
    path.chmod(0o755)
    return path


def best(job: Callable[[], object], rounds: int) -> float:
    """The shortest CPU time of some rounds."""
    shortest = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        job()
        shortest = min(shortest, time.process_time() - start)
    return shortest
