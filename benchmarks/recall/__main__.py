"""`make bench-recall`: how often a search has the session on top that a person means.

python -m benchmarks.recall [--misses] [--kind KIND ...] [--seed 1] [--keep DIR]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.recall import programs
from benchmarks.recall.queries import GROUPS, KINDS, Query, make_queries
from benchmarks.recall.reader import Library, read_tree
from benchmarks.recall.tree import write_tree


@dataclass(frozen=True, slots=True)
class Answer:
    """The rank of the session that was meant, 0 if it is not among the results, and the session on top."""

    query: Query
    rank: int
    first: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.recall", description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", action="append", default=[], choices=KINDS, help="only queries of this kind")
    parser.add_argument("--misses", action="store_true", help="list the queries whose session is not on top")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "home" / ".claude"
        if not (root / "projects").exists():
            write_tree(root, options.seed, datetime.now(UTC))
        library = read_tree(root)
        queries = make_queries(library, options.seed, options.kind)
        print(describe(library, queries))
        with programs.clew(root, Path(scratch)) as ask:
            answers = [answer(ask, query) for query in queries]
        report(answers)
        if options.misses:
            list_misses(answers, library)
    return 0


def describe(library: Library, queries: list[Query]) -> str:
    real = sum(query.session in library.samples for query in queries)
    sessions, samples = len(library.by_session), len(library.samples)
    return f"{sessions} sessions ({samples} real), {len(queries)} queries ({real} for real ones)"


def answer(ask: programs.Ask, query: Query) -> Answer:
    found = ask(query.text)[: programs.LIMIT]
    return Answer(query, found.index(query.session) + 1 if query.session in found else 0, found[0] if found else "")


def report(answers: list[Answer]) -> None:
    print(f"{'kind':<14}{'n':>5}{'top-1':>8}{'top-5':>8}{'none':>7}{'MRR@20':>9}")
    for kind in KINDS:
        row(kind, [one for one in answers if one.query.kind == kind])
    for group, kinds in GROUPS.items():
        row(f"= {group}", [one for one in answers if one.query.kind in kinds])
    row("= all", answers)


def row(name: str, answers: list[Answer]) -> None:
    if not answers:
        return
    ranks = [one.rank for one in answers]
    first, five = sum(rank == 1 for rank in ranks), sum(1 <= rank <= 5 for rank in ranks)
    mean = sum(1 / rank for rank in ranks if rank) / len(ranks)
    print(f"{name:<14}{len(ranks):>5}{first:>8}{five:>8}{ranks.count(0):>7}{mean:>9.3f}")


def list_misses(answers: Iterable[Answer], library: Library) -> None:
    for one in answers:
        if one.rank != 1:
            real = "real " if one.query.session in library.samples else ""
            found = f"{one.query.id:<16} rank {one.rank or '-':<3} {one.query.text!r}"
            print(f"{found}  {real}{one.query.session}  first: {one.first or '-'}")


if __name__ == "__main__":
    started = time.perf_counter()
    code = main()
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(code)
