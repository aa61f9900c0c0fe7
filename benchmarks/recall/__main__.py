"""`make bench-recall`: how often a search has the session on top that a person means.

python -m benchmarks.recall [--peers all] [--misses] [--kind KIND ...] [--seed 1] [--keep DIR]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Line, Note
from benchmarks.peer import reason
from benchmarks.recall.programs import PROGRAMS, Place, ask_clew, ask_clew_by_meaning
from benchmarks.recall.queries import KINDS, PARAPHRASE, Query, make_queries, paraphrase_queries
from benchmarks.recall.reader import Library, read_tree
from benchmarks.recall.score import GROUPS, Answer, judge, mean_rank, print_table
from benchmarks.recall.tree import write_tree
from clew.errors import ClewError

LEAST = {"exact": 0.95, "remembered": 0.90}
LEAST_BY_MEANING = {PARAPHRASE: 0.25, "exact": 0.95}
PEERS = [name for name in PROGRAMS if name != "clew"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.recall", description="Search for known sessions.")
    parser.add_argument("--peers", nargs="+", default=["all"], choices=["all", "none", *PEERS], help="default: all")
    parser.add_argument("--kind", action="append", default=[], choices=KINDS, help="only queries of this kind")
    parser.add_argument("--misses", action="store_true", help="list clew's queries whose session is not on top")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    peers = PEERS if "all" in options.peers else [name for name in PEERS if name in options.peers]
    with tempfile.TemporaryDirectory() as scratch:
        place = Place((options.keep or Path(scratch) / "home").resolve(), Path(scratch))
        if not (place.root / "projects").exists():
            write_tree(place.root, options.seed, datetime.now(UTC))
        library = read_tree(place.root)
        queries = make_queries(library, options.seed, options.kind)
        print(describe(library, queries), flush=True)
        answers = dict(ask(["clew", *peers], place, queries))
        lines = list(compare_meanings(place, library, queries)) if not options.kind else []
    print_table(answers)
    lines += compare(answers)
    print(*lines, sep="\n")
    if options.misses:
        list_misses(answers["clew"], library)
    return 0 if all(line.is_met for line in lines) else 1


def describe(library: Library, queries: list[Query]) -> str:
    real = sum(query.session in library.samples for query in queries)
    sessions, samples = len(library.by_session), len(library.samples)
    return f"{sessions} sessions ({samples} real), {len(queries)} queries ({real} for real ones)"


def ask(names: list[str], place: Place, queries: list[Query]) -> Iterator[tuple[str, list[Answer]]]:
    """Ask each program all queries. One that cannot be installed or asked is left out, with the reason."""
    for name in names:
        try:
            program, found = PROGRAMS[name](place, [query.text for query in queries])
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{name}: not asked: {reason(error)}", flush=True)
        else:
            yield program, [judge(*pair) for pair in zip(queries, found, strict=True)]


def compare(answers: dict[str, list[Answer]]) -> Iterator[Line | Note]:
    """What clew is held to: least values, and to be no worse than any peer in any kind."""
    ours = answers["clew"]
    for group, least in LEAST.items():
        value = mean_rank(ours, GROUPS[group])
        if value is not None:
            yield Line(f"clew: MRR@20 of {group} queries", value, "", f"≥ {least:.2f}", value >= least)
    for program, theirs in answers.items():
        if program != "clew":
            behind = [kind for kind in KINDS if (mean_rank(ours, [kind]) or 0) < (mean_rank(theirs, [kind]) or 0)]
            yield Line(f"kinds in which {program} is better", len(behind), "", "= 0", not behind)
            if behind:
                yield Note(f"{program} is better in: {', '.join(behind)}")


def compare_meanings(place: Place, library: Library, queries: list[Query]) -> Iterator[Line | Note]:
    """Ask clew for paraphrases by words and with `--semantic`, and whether that pushes exact matches down."""
    asked = [*paraphrase_queries(library), *(query for query in queries if query.kind == "exact")]
    texts = [query.text for query in asked]
    try:
        by_meaning = ask_clew_by_meaning(place, texts)
    except ClewError as error:
        yield Note(f"clew --semantic: not asked: {error}")
        return
    both = {"by words": ask_clew(place, texts)[1], "--semantic": by_meaning}
    for way, found in both.items():
        answers = [judge(*pair) for pair in zip(asked, found, strict=True)]
        for kind, least in LEAST_BY_MEANING.items():
            value, count = mean_rank(answers, [kind]) or 0.0, sum(query.kind == kind for query in asked)
            is_held = way == "--semantic"
            name = f"clew {way}: MRR@20 of {count} queries, {kind}"
            yield Line(name, value, "", f"≥ {least:.2f}" if is_held else "", value >= least or not is_held)


def list_misses(answers: list[Answer], library: Library) -> None:
    for one in answers:
        if one.rank != 1:
            real = "real " if one.query.session in library.samples else ""
            found = f"{one.query.id:<16} rank {one.rank or '-':<3} {one.query.text!r}"
            print(f"{found}  {real}{one.query.session}  first: {one.first or '-'}")


if __name__ == "__main__":
    sys.exit(main())
